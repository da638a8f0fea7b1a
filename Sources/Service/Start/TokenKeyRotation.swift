import Delivery
import Notifications
package import Trust

/// The keys that seal device tokens, and making further ones.
package struct TokenKeyRotation: Sendable {
    let secrets: any Secrets
    package let keys: SharedTokenKeys

    /// Reads the keys, and makes the first one if there is none. The newest key seals.
    /// - Parameters:
    ///   - isFirstStart: whether the keys may be missing.
    ///   - tokenByteCount: the length of the tokens that they seal, in bytes.
    static func load(
        from secrets: any Secrets,
        isFirstStart: Bool,
        tokenByteCount: Int = DeviceToken.byteCount,
    ) async throws -> TokenKeyRotation {
        if let keys = try await read(from: secrets, tokenByteCount: tokenByteCount) {
            return TokenKeyRotation(keys, from: secrets)
        }
        let first = TokenKeyID(rawValue: 1)
        guard let name = name(of: first) else { throw StoreError(.unavailable, "A token key has no name.") }
        guard isFirstStart else { throw SharedSecrets.lost(name) }
        let key = try await secrets.keep(TokenKeys.makeKey(), as: name)
        return TokenKeyRotation(
            try TokenKeys(keys: [first: key], current: first, tokenByteCount: tokenByteCount), from: secrets)
    }

    private init(_ known: TokenKeys, from secrets: any Secrets) {
        self.secrets = secrets
        guard secrets.isShared else {
            keys = SharedTokenKeys(known)
            return
        }
        keys = SharedTokenKeys(known) { try await Self.newer(than: $0, in: secrets) }
    }

    /// The keys that were made after the newest known key.
    private static func newer(
        than known: TokenKeys,
        in secrets: any Secrets,
    ) async throws(StoreError) -> [TokenKeyID: [UInt8]] {
        var keys: [TokenKeyID: [UInt8]] = [:]
        var number = known.current.rawValue
        while number < UInt32(TokenKeys.maximumCount) {
            number += 1
            let id = TokenKeyID(rawValue: number)
            // Keys have consecutive numbers.
            guard let name = name(of: id), let key = try await secrets.secret(name) else { break }
            keys[id] = key
        }
        return keys
    }

    /// Reads each key that another node makes, until the task is cancelled. Keys that are not known yet are read when a
    /// device token needs them.
    package func follow() async {
        for await name in secrets.names() {
            guard let id = Self.id(of: name), !keys.current.contains(id) else { continue }
            // If this fails, the key is read when a device token needs it.
            try? await keys.findKeys()
        }
    }

    /// Reads all keys; nil if there are none.
    static func read(
        from secrets: any Secrets,
        tokenByteCount: Int = DeviceToken.byteCount,
    ) async throws -> TokenKeys? {
        var keys: [TokenKeyID: [UInt8]] = [:]
        var newest = TokenKeyID(rawValue: 1)
        for number in 1...UInt32(TokenKeys.maximumCount) {
            let id = TokenKeyID(rawValue: number)
            guard let name = name(of: id), let key = try await secrets.secret(name) else { continue }
            keys[id] = key
            newest = id
        }
        // If a key between the others is missing, the device tokens that it sealed are lost.
        for number in 1..<newest.rawValue where keys[TokenKeyID(rawValue: number)] == nil {
            if let name = name(of: TokenKeyID(rawValue: number)) { throw SharedSecrets.lost(name) }
        }
        return keys.isEmpty ? nil : try TokenKeys(keys: keys, current: newest, tokenByteCount: tokenByteCount)
    }

    /// Makes a new key, which seals the tokens of new registrations from now on. Earlier tokens stay valid.
    /// - Returns: the new key's number.
    func rotate() async throws -> TokenKeyID {
        let id = TokenKeyID(rawValue: keys.current.current.rawValue + 1)
        guard id.rawValue <= UInt32(TokenKeys.maximumCount), let name = Self.name(of: id) else {
            throw StoreError(
                .conflict,
                "There are \(TokenKeys.maximumCount) token keys, and all of them are needed to read the tokens they made."
            )
        }
        try keys.add(try await secrets.keep(TokenKeys.makeKey(), as: name), as: id)
        return id
    }

    static func name(of id: TokenKeyID) -> SecretName? { SecretName(rawValue: prefix + "\(id.rawValue)") }

    private static func id(of name: SecretName) -> TokenKeyID? {
        guard name.rawValue.hasPrefix(prefix) else { return nil }
        return UInt32(name.rawValue.dropFirst(prefix.count)).map { TokenKeyID(rawValue: $0) }
    }

    private static let prefix = "token-key-"
}

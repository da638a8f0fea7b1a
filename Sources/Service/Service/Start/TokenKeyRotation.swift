import Notifications
import Storage
package import Trust

/// Reads the keys that seal device tokens, and makes new ones.
package struct TokenKeyRotation: Sendable {
    let secrets: any Secrets
    package let keys: SharedTokenKeys

    /// Reads the keys. If there are none, makes the first one. The newest key seals new device tokens.
    /// - Parameters:
    ///   - isFirstStart: whether the keys may be missing.
    ///   - tokenByteCount: the length of device tokens, in bytes.
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

    /// The keys that other nodes have made since the newest key that this node knows.
    private static func newer(
        than known: TokenKeys,
        in secrets: any Secrets,
    ) async throws(StoreError) -> [TokenKeyID: [UInt8]] {
        var keys: [TokenKeyID: [UInt8]] = [:]
        var number = known.current.rawValue
        while number < UInt32(TokenKeys.maximumCount) {
            number += 1
            let id = TokenKeyID(rawValue: number)
            // Keys have consecutive numbers, so the first missing number ends the search.
            guard let name = name(of: id), let key = try await secrets.secret(name) else { break }
            keys[id] = key
        }
        return keys
    }

    /// Reads the keys that other nodes make, until the task is cancelled. If a device token needs a key that is not
    /// known yet, the key is read at that moment.
    package func follow() async {
        for await name in secrets.nameStream() {
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
        // Device tokens that were sealed with a missing key are lost, so report the gap.
        for number in 1..<newest.rawValue where keys[TokenKeyID(rawValue: number)] == nil {
            if let name = name(of: TokenKeyID(rawValue: number)) { throw SharedSecrets.lost(name) }
        }
        return keys.isEmpty ? nil : try TokenKeys(keys: keys, current: newest, tokenByteCount: tokenByteCount)
    }

    /// Makes a new key, which seals the tokens of new registrations from now on. Earlier tokens stay valid.
    /// - Returns: the new key's number.
    func rotate() async throws -> TokenKeyID {
        let id = TokenKeyID(rawValue: keys.current.current.rawValue + 1)  // fits: at most TokenKeys.maximumCount
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
        // fits: nil if it does not
        return UInt32(name.rawValue.dropFirst(prefix.count)).map { TokenKeyID(rawValue: $0) }
    }

    private static let prefix = "token-key-"
}

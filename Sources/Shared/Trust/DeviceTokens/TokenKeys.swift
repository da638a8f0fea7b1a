package import Credentials
import Crypto
import CryptoExtras
import Foundation
package import Notifications

/// The number of a key that seals device tokens. A registration keeps it, because its token must not change.
package struct TokenKeyID: RawRepresentable, Sendable, Hashable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// Seals and opens device tokens.
///
/// A token usually has 16 bytes (device, app and generation), encrypted with AES-256-GCM-SIV (RFC 8452): 16 bytes of
/// ciphertext and a tag of 16, which is what the binary API has room for. The nonce is fixed, so a registration always
/// has the same token. With this cipher a repeated nonce only shows whether two tokens are equal, and equal tokens are
/// the same token. The environment is authenticated, so a token is valid in its own environment only.
///
/// Tokens of Live Activities have 80 bytes, as APNs' have: the activity is inside the seal too.
///
/// Longer tokens, for testing clients, have zeros after the 16 bytes, inside the seal. Tokens of every length can be
/// opened, whatever length new ones have.
package struct TokenKeys: Sendable {
    /// The size of a key, in bytes.
    package static let keyByteCount = 32

    /// Each key adds about 1.2 µs to the opening of every token. A service does not change its key more than sixteen
    /// times in its life.
    package static let maximumCount = 16

    private struct SealingKey: Sendable {
        let id: TokenKeyID
        let key: SymmetricKey
    }

    private let nonce: AES.GCM._SIV.Nonce
    /// Fixed. All tokens are sealed with it.
    private static let nonceBytes = [UInt8](repeating: 0, count: 12)
    /// The additional data that is authenticated with the tokens of each environment.
    private static let developmentData = Data(Environment.development.rawValue.utf8)
    private static let productionData = Data(Environment.production.rawValue.utf8)

    private let keys: [SealingKey]
    /// The key that seals the tokens of new registrations.
    package let current: TokenKeyID
    /// The size of the tokens that are issued, in bytes.
    package let tokenByteCount: Int

    /// - Parameters:
    ///   - keys: 32 bytes each, made by ``makeKey()``.
    ///   - current: one of them, which seals new tokens.
    ///   - tokenByteCount: the length of new tokens: one of `DeviceToken.lengths`.
    package init(
        keys: [TokenKeyID: [UInt8]],
        current: TokenKeyID,
        tokenByteCount: Int = DeviceToken.byteCount,
    ) throws(TrustError) {
        guard DeviceToken.lengths.contains(tokenByteCount) else {
            throw TrustError(.malformed, "Device tokens cannot have \(tokenByteCount) bytes.")
        }
        self.tokenByteCount = tokenByteCount
        guard keys[current] != nil else { throw TrustError(.malformed, "The current token key is not among the keys.") }
        guard keys.count <= Self.maximumCount else {
            throw TrustError(.tooLarge, "There are more than \(Self.maximumCount) token keys.")
        }
        guard keys.values.allSatisfy({ $0.count == Self.keyByteCount }) else {
            throw TrustError(.malformed, "A token key is not \(Self.keyByteCount) bytes long.")
        }
        nonce = try TrustError.wrapping(.failed, "The nonce could not be made.") {
            try AES.GCM._SIV.Nonce(data: Self.nonceBytes)
        }
        self.keys = keys.map { SealingKey(id: $0.key, key: SymmetricKey(data: $0.value)) }
        self.current = current
    }

    /// A new key for the store: 32 bytes from the cryptography library.
    package static func makeKey() -> [UInt8] {
        RandomBytes.make()
    }

    package func contains(_ id: TokenKeyID) -> Bool { keys.contains { $0.id == id } }

    /// All keys, for a store.
    package var rawKeys: [TokenKeyID: [UInt8]] {
        Dictionary(uniqueKeysWithValues: keys.map { key in (key.id, key.key.withUnsafeBytes { Array($0) }) })
    }

    /// The token of a registration. The same arguments always give the same token.
    ///
    /// - Parameter id: the key that the registration keeps; the current one by default.
    /// - Throws: if there is no such key.
    package func seal(
        _ contents: DeviceTokenContents,
        environment: Environment,
        key id: TokenKeyID? = nil,
    ) throws(TrustError) -> DeviceToken {
        guard let key = keys.first(where: { $0.id == id ?? current }) else {
            throw TrustError(.untrusted, "There is no such token key.")
        }
        let box = try TrustError.wrapping(.failed, "The device token could not be sealed.", quoting: false) {
            let plaintext = contents.plaintext
            let missing = tokenByteCount - (DeviceToken.byteCount - DeviceTokenContents.byteCount) - plaintext.count
            let padding = [UInt8](repeating: 0, count: max(0, missing))
            return try AES.GCM._SIV.seal(
                plaintext + padding, using: key.key, nonce: nonce, authenticating: Self.data(for: environment))
        }
        guard let token = DeviceToken(box.combined.dropFirst(Self.nonceBytes.count)) else {
            throw TrustError(.failed, "The device token has an unexpected length.")
        }
        return token
    }

    /// The contents of a token; nil unless one of the keys sealed it for this environment.
    ///
    /// All keys are always tried, so the work is the same for valid and invalid tokens: about a microsecond for each
    /// key.
    package func open(_ token: DeviceToken, environment: Environment) -> DeviceTokenContents? {
        let byteCount = Self.nonceBytes.count + token.count
        let box = withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 1) { buffer in
            buffer.copyBytes(from: Self.nonceBytes)
            if token.count == DeviceToken.byteCount {
                withUnsafeBytes(of: token.bytes) { buffer[Self.nonceBytes.count...].copyBytes(from: $0) }
            } else {
                buffer[Self.nonceBytes.count...].copyBytes(from: token.array)
            }
            // This can fail only for a wrong length. Such a token has no contents.
            return try? AES.GCM._SIV.SealedBox(combined: UnsafeRawBufferPointer(buffer))
        }
        guard let box else { return nil }
        var contents: DeviceTokenContents?
        for key in keys {
            // A wrong key is not an error: each key is tried.
            let plaintext = try? AES.GCM._SIV.open(
                box, using: key.key, authenticating: Self.data(for: environment))
            if let plaintext { contents = DeviceTokenContents(plaintext: plaintext) }
        }
        return contents
    }

    private static func data(for environment: Environment) -> Data {
        switch environment {
        case .development: developmentData
        case .production: productionData
        }
    }
}

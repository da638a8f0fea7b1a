package import Credentials
import Crypto
import CryptoExtras
import Foundation
package import Notifications

/// Makes handles, and encrypts the device tokens that they stand for.
///
/// A handle is HMAC-SHA256 of the app, the environment, the grant and the device token. So the same token and grant
/// always give the same handle, nobody can find a token by its handle, and the handles of two grants cannot be compared.
package struct HandleKey: Sendable {
    /// The size of the secret, in bytes.
    package static let byteCount = 32

    private let hashKey: SymmetricKey
    private let sealKey: SymmetricKey

    /// - Parameter secret: made by ``makeSecret()``.
    /// - Returns: nil unless it has ``byteCount`` bytes.
    package init?(_ secret: [UInt8]) {
        guard secret.count == Self.byteCount else { return nil }
        let secret = SymmetricKey(data: secret)
        hashKey = HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, info: Data("handle".utf8), outputByteCount: 32)
        sealKey = HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, info: Data("device token".utf8), outputByteCount: 32)
    }

    package static func makeSecret() -> [UInt8] { RandomBytes.make() }

    /// The handle of a device token.
    package func handle(
        of token: [UInt8],
        app: AppID,
        environment: Environment,
        grant: GrantID,
    ) -> Handle? {
        // Each part but the last has a fixed length, or an end that cannot be in it.
        var input: [UInt8] = withUnsafeBytes(of: app.rawValue.bigEndian) { Array($0) }
        input.append(environment == .development ? 0 : 1)
        input += Array(grant.rawValue.utf8) + [0] + token
        return Handle(Array(HMAC<SHA256>.authenticationCode(for: input, using: hashKey)))
    }

    /// Encrypts a device token with AES-256-GCM-SIV. The handle is authenticated, so that a row of the store cannot take
    /// the token of another one.
    package func seal(_ token: [UInt8], of handle: Handle) throws(TrustError) -> [UInt8] {
        let box = try TrustError.wrapping(.failed, "The device token could not be encrypted.", quoting: false) {
            try AES.GCM._SIV.seal(token, using: sealKey, nonce: Self.nonce(of: handle), authenticating: handle.bytes)
        }
        return Array(box.combined.dropFirst(Self.nonceByteCount))
    }

    /// - Returns: nil if the bytes were not made by ``seal(_:of:)`` for this handle.
    package func open(_ sealed: [UInt8], of handle: Handle) -> [UInt8]? {
        // Damage is the only reason for which this fails.
        let combined = Data(handle.bytes.prefix(Self.nonceByteCount)) + sealed
        guard let box = try? AES.GCM._SIV.SealedBox(combined: combined),
            let token = try? AES.GCM._SIV.open(box, using: sealKey, authenticating: handle.bytes)
        else { return nil }
        return Array(token)
    }

    private static let nonceByteCount = 12

    /// The beginning of the handle. A handle has one token, so a nonce is never used for two different ones; with this
    /// cipher that would only show whether they are equal (RFC 8452).
    private static func nonce(of handle: Handle) throws -> AES.GCM._SIV.Nonce {
        try AES.GCM._SIV.Nonce(data: handle.bytes.prefix(nonceByteCount))
    }
}

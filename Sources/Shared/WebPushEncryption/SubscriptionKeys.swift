import Crypto
import Foundation
import Notifications

/// The keys of one subscription (RFC 8291, 2). The subscriber keeps them, and gives the public key and the secret to the
/// application server.
package struct SubscriptionKeys: Sendable {
    let privateKey: P256.KeyAgreement.PrivateKey
    /// The authentication secret that subscriber and application server share: 16 bytes.
    package let auth: [UInt8]

    /// Makes new keys.
    package init() {
        privateKey = P256.KeyAgreement.PrivateKey()
        var random = SystemRandomNumberGenerator()
        auth = (0..<WebPushLimits.secretBytes).map { _ in random.next() }
    }

    /// - Parameters:
    ///   - privateKey: 32 bytes.
    ///   - auth: the secret, 16 bytes.
    /// - Throws: ``WebPushEncryptionError/Code/badKey`` or ``WebPushEncryptionError/Code/badSecret``.
    package init(privateKey: [UInt8], auth: [UInt8]) throws(WebPushEncryptionError) {
        guard auth.count == WebPushLimits.secretBytes else {
            throw WebPushEncryptionError(.badSecret, "The secret of the subscription does not have 16 bytes.")
        }
        do {
            self.privateKey = try P256.KeyAgreement.PrivateKey(rawRepresentation: privateKey)
        } catch {
            throw WebPushEncryptionError(.badKey, "The private key is not a number of P-256.")
        }
        self.auth = auth
    }

    /// The keys as they are written in files and documents: base64url, with padding or without.
    /// - Throws: ``WebPushEncryptionError/Code/badKey`` or ``WebPushEncryptionError/Code/badSecret``, also for a text that is not
    ///   base64url.
    package init(privateKey: String, auth: String) throws(WebPushEncryptionError) {
        // The initialiser refuses empty bytes.
        try self.init(
            privateKey: Base64URL.decoded(Array(privateKey.utf8)[...], .url) ?? [],
            auth: Base64URL.decoded(Array(auth.utf8)[...], .url) ?? [])
    }

    /// The public key: an uncompressed point of P-256, 65 bytes.
    package var publicKey: [UInt8] { Array(privateKey.publicKey.x963Representation) }
    /// The public key in base64url, as application servers take it: 87 characters.
    package var p256dh: String { Self.text(publicKey) }
    /// The secret in base64url: 22 characters.
    package var authText: String { Self.text(auth) }
    /// The private key in base64url: 43 characters. It is a secret.
    package var privateText: String { Self.text(privateKey.rawRepresentation) }

    private static func text(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: Base64URL.encoded(bytes), as: UTF8.self)
    }
}

package import Crypto
import Foundation
import Notifications

/// Encrypts messages as an application server does, for tests and fixtures.
package struct WebPushSender: Sendable {
    private let receiver: P256.KeyAgreement.PublicKey
    private let auth: [UInt8]

    /// - Parameters:
    ///   - publicKey: the subscription's, 65 bytes.
    ///   - auth: the subscription's secret, 16 bytes.
    /// - Throws: ``WebPushEncryptionError/Code/badKey`` or ``WebPushEncryptionError/Code/badSecret``.
    package init(publicKey: [UInt8], auth: [UInt8]) throws(WebPushEncryptionError) {
        receiver = try MessageKeys.publicKey(publicKey[...])
        guard auth.count == WebPushLimits.secretBytes else {
            throw WebPushEncryptionError(.badSecret, "The secret of the subscription does not have 16 bytes.")
        }
        self.auth = auth
    }

    /// - Parameters:
    ///   - p256dh: the subscription's public key in base64url.
    ///   - auth: its secret in base64url.
    package init(p256dh: String, auth: String) throws(WebPushEncryptionError) {
        // The initialiser refuses empty bytes.
        try self.init(
            publicKey: Base64URL.decoded(Array(p256dh.utf8)[...], .url) ?? [],
            auth: Base64URL.decoded(Array(auth.utf8)[...], .url) ?? [])
    }

    /// Encrypts a message with a new key and a new salt.
    /// - Parameter padding: the number of zeros that hide the message's length.
    /// - Throws: ``WebPushEncryptionError/Code/tooLong`` if the body would have more than ``WebPushLimits/bodyBytes``.
    package func encrypt(
        _ text: [UInt8],
        as coding: WebPushCoding = .aes128gcm,
        padding: Int = 0,
    ) throws(WebPushEncryptionError) -> EncryptedMessage {
        var random = SystemRandomNumberGenerator()
        return try encrypt(
            text, as: coding, padding: padding, key: P256.KeyAgreement.PrivateKey(),
            salt: (0..<WebPushLimits.saltBytes).map { _ in random.next() })
    }

    /// Encrypts a message with a given key and salt. The two must be used for one message alone.
    package func encrypt(
        _ text: [UInt8],
        as coding: WebPushCoding,
        padding: Int,
        key: P256.KeyAgreement.PrivateKey,
        salt: [UInt8],
    ) throws(WebPushEncryptionError) -> EncryptedMessage {
        try MessageKeys.checkSalt(salt)
        let sender = Array(key.publicKey.x963Representation)
        let keys = try MessageKeys(key, receiver, auth: auth)
        let own = Array(receiver.x963Representation)
        switch coding {
        case .aes128gcm:
            return .aes128gcm(
                try ContentEncryption.encrypt(
                    text, key: keys.modern(receiver: own, sender: sender), salt: salt, keyID: sender, padding: padding))
        case .aesgcm:
            // Two bytes have the length of the padding.
            let zeros = min(max(0, padding), 0xffff)
            let record =
                [UInt8(truncatingIfNeeded: zeros >> 8), UInt8(truncatingIfNeeded: zeros)]
                + [UInt8](repeating: 0, count: zeros) + text
            guard record.count + WebPushLimits.tagBytes <= WebPushLimits.bodyBytes else {
                throw WebPushEncryptionError(
                    .tooLong, "The encrypted message would have more than \(WebPushLimits.bodyBytes) bytes.")
            }
            let body = try keys.draft(receiver: own, sender: sender, salt: salt).seal(record)
            return .aesgcm(body, dh: sender, salt: salt)
        }
    }
}

import Crypto
import Foundation

/// The secret that sender and subscription share for one message.
struct MessageKeys {
    private let shared: SharedSecret
    private let auth: [UInt8]

    init(
        _ own: P256.KeyAgreement.PrivateKey,
        _ other: P256.KeyAgreement.PublicKey,
        auth: [UInt8],
    ) throws(WebPushEncryptionError) {
        do {
            shared = try own.sharedSecretFromKeyAgreement(with: other)
        } catch {
            throw WebPushEncryptionError(.badKey, "The public key cannot be used.")
        }
        self.auth = auth
    }

    /// Reads a public key. swift-crypto refuses a point that is not on the curve.
    static func publicKey(_ bytes: ArraySlice<UInt8>) throws(WebPushEncryptionError) -> P256.KeyAgreement.PublicKey {
        guard bytes.count == WebPushLimits.publicKeyBytes, bytes.first == 4,
            let key = try? P256.KeyAgreement.PublicKey(x963Representation: bytes)
        else { throw WebPushEncryptionError(.badKey, "The public key is not an uncompressed point of P-256.") }
        return key
    }

    static func checkSalt(_ salt: [UInt8]) throws(WebPushEncryptionError) {
        guard salt.count == WebPushLimits.saltBytes else {
            throw WebPushEncryptionError(.badSalt, "The salt does not have 16 bytes.")
        }
    }

    /// The input keying material of `aes128gcm` (RFC 8291, 3.3 and 3.4).
    func modern(receiver: [UInt8], sender: [UInt8]) -> [UInt8] {
        input(Array("WebPush: info\0".utf8) + receiver + sender)
    }

    /// The keys of `aesgcm`'s only record (draft-ietf-webpush-encryption-04, 4.1 and 4.2).
    func draft(receiver: [UInt8], sender: [UInt8], salt: [UInt8]) -> RecordKeys {
        let context = Array("P-256\0".utf8) + Self.withLength(receiver) + Self.withLength(sender)
        return RecordKeys(
            key: input(Array("Content-Encoding: auth\0".utf8)), salt: salt,
            info: Array("Content-Encoding: aesgcm\0".utf8) + context,
            nonceInfo: Array("Content-Encoding: nonce\0".utf8) + context)
    }

    private func input(_ info: [UInt8]) -> [UInt8] {
        shared.hkdfDerivedSymmetricKey(using: SHA256.self, salt: auth, sharedInfo: info, outputByteCount: 32)
            .withUnsafeBytes { Array($0) }
    }

    private static func withLength(_ key: [UInt8]) -> [UInt8] {
        [UInt8(truncatingIfNeeded: key.count >> 8), UInt8(truncatingIfNeeded: key.count)] + key
    }
}

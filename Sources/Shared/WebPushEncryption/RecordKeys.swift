import Crypto
import Foundation

/// The key and the nonce of the records of one message (RFC 8188, 2.2 and 2.3).
struct RecordKeys {
    private let key: SymmetricKey
    private let nonce: [UInt8]

    /// The size of a nonce of AES-GCM, in bytes.
    private static let nonceBytes = 12

    /// - Parameters:
    ///   - key: the input keying material.
    ///   - info: what is bound to the key.
    ///   - nonceInfo: what is bound to the nonce.
    init(key: [UInt8], salt: [UInt8], info: String, _ nonceInfo: String) {
        self.init(key: key, salt: salt, info: Array(info.utf8), nonceInfo: Array(nonceInfo.utf8))
    }

    init(key: [UInt8], salt: [UInt8], info: [UInt8], nonceInfo: [UInt8]) {
        let secret = HKDF<SHA256>.extract(inputKeyMaterial: SymmetricKey(data: key), salt: salt)
        self.key = HKDF<SHA256>.expand(pseudoRandomKey: secret, info: info, outputByteCount: 16)
        nonce = HKDF<SHA256>.expand(pseudoRandomKey: secret, info: nonceInfo, outputByteCount: Self.nonceBytes)
            .withUnsafeBytes { Array($0) }
    }

    /// The nonce of one record: the record's number is XORed into the last eight bytes (RFC 8188, 2.3).
    private func nonce(of number: UInt64) throws(WebPushEncryptionError) -> AES.GCM.Nonce {
        var bytes = nonce
        for index in 0..<8 {
            // fits: 0 to 7
            bytes[Self.nonceBytes - 1 - index] ^= UInt8(truncatingIfNeeded: number >> (8 * UInt64(index)))
        }
        do {
            return try AES.GCM.Nonce(data: bytes)
        } catch {
            throw WebPushEncryptionError(.notAuthentic, "The nonce cannot be used.")
        }
    }

    /// Decrypts a record: its text with its padding.
    func open(_ record: ArraySlice<UInt8>, number: UInt64 = 0) throws(WebPushEncryptionError) -> [UInt8] {
        guard record.count > WebPushLimits.tagBytes else {
            throw WebPushEncryptionError(.truncated, "A record is too short for its tag.")
        }
        let nonce = try nonce(of: number)
        do {
            let box = try AES.GCM.SealedBox(
                nonce: nonce, ciphertext: record.dropLast(WebPushLimits.tagBytes),
                tag: record.suffix(WebPushLimits.tagBytes))
            return Array(try AES.GCM.open(box, using: key))
        } catch {
            throw WebPushEncryptionError(
                .notAuthentic, "The content was not encrypted for this subscription, or was changed on the way.")
        }
    }

    /// Encrypts the only record of a message.
    func seal(_ record: [UInt8]) throws(WebPushEncryptionError) -> [UInt8] {
        let nonce = try nonce(of: 0)
        do {
            let box = try AES.GCM.seal(record, using: key, nonce: nonce)
            return Array(box.ciphertext) + Array(box.tag)
        } catch {
            throw WebPushEncryptionError(.badKey, "The message cannot be encrypted.")
        }
    }
}

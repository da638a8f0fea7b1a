import Crypto
import Foundation

extension SubscriptionKeys {
    /// Decrypts a message that was sent to this subscription.
    /// - Returns: what the application server has sent.
    /// - Throws: ``WebPushEncryptionError``, for any bytes from a stranger.
    package func decrypt(_ message: EncryptedMessage) throws(WebPushEncryptionError) -> [UInt8] {
        try ContentEncryption.checkLength(message.body)
        switch message {
        case .aes128gcm(let body):
            let header = try ContentEncryption.Header(body[...])
            // RFC 8291, 4: the message is one record, and its key identifier is the sender's key.
            guard header.records.count <= header.recordSize else {
                throw WebPushEncryptionError(.badRecordSize, "The message has more than one record.")
            }
            let sender = try MessageKeys.publicKey(header.keyID)
            let key = try MessageKeys(privateKey, sender, auth: auth).modern(
                receiver: publicKey, sender: Array(header.keyID))
            return try ContentEncryption.decrypt(header, key: key)
        case .aesgcm(let body, let dh, let salt):
            try MessageKeys.checkSalt(salt)
            let sender = try MessageKeys.publicKey(dh[...])
            let keys = try MessageKeys(privateKey, sender, auth: auth).draft(
                receiver: publicKey, sender: dh, salt: salt)
            let record = try keys.open(body[...])
            // The padding comes first: two bytes with its length, and so many zeros.
            guard record.count >= 2 else {
                throw WebPushEncryptionError(.badPadding, "The record has no length of its padding.")
            }
            let padding = Int(record[0]) << 8 | Int(record[1])  // fits: a byte each
            let rest = record.dropFirst(2)
            guard rest.count >= padding, rest.prefix(padding).allSatisfy({ $0 == 0 }) else {
                throw WebPushEncryptionError(.badPadding, "The padding is longer than the record, or not zero.")
            }
            return Array(rest.dropFirst(padding))
        }
    }

    /// What a message says that was sent to this subscription.
    /// - Returns: nil if it was encrypted for another one, or is not UTF-8.
    package func text(of message: EncryptedMessage) -> String? {
        // The messages of other subscriptions cannot be decrypted.
        (try? decrypt(message)).flatMap { String(validating: $0, as: UTF8.self) }
    }
}

/// Why the body of a Web Push message cannot be decrypted or encrypted.
///
/// It contains no key and no part of the message.
package struct WebPushEncryptionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error.
    package enum Code: Sendable, Hashable {
        /// A public key is not an uncompressed point of P-256, or a private key is not a number of the curve.
        case badKey
        /// The secret of a subscription does not have 16 bytes.
        case badSecret
        /// The salt does not have 16 bytes.
        case badSalt
        /// The body ends before its header does, or before a record has a tag.
        case truncated
        /// The record size is less than 18 bytes, or the content has more than one record.
        case badRecordSize
        /// The content was not encrypted for this subscription, or was changed on the way.
        case notAuthentic
        /// The padding is not as the coding wants it.
        case badPadding
        /// The content is longer than a message may be.
        case tooLong
    }

    package let code: Code
    /// A sentence for a person.
    package let cause: String

    init(_ code: Code, _ cause: String) {
        (self.code, self.cause) = (code, cause)
    }

    package var description: String { cause }
}

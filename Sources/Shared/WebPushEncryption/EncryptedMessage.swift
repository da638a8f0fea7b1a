/// The body of a Web Push message with what belongs to its encryption.
package enum EncryptedMessage: Sendable, Hashable {
    /// `aes128gcm` (RFC 8291): the sender's key and the salt are in the body.
    case aes128gcm([UInt8])
    /// `aesgcm` (draft-ietf-webpush-encryption-04): they are in `Crypto-Key` and `Encryption`.
    case aesgcm([UInt8], dh: [UInt8], salt: [UInt8])

    /// The body.
    package var body: [UInt8] {
        switch self {
        case .aes128gcm(let body), .aesgcm(let body, _, _): body
        }
    }
}

/// The two ways in which a body is encrypted, by the name in `Content-Encoding`.
package enum WebPushCoding: String, Sendable, Hashable, CaseIterable {
    case aes128gcm, aesgcm
}

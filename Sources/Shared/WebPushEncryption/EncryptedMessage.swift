import Notifications

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

    /// Reads a message as it is passed on.
    /// - Parameters:
    ///   - encoding: the value of `Content-Encoding`.
    ///   - dh: the sender's key and the salt of ``WebPushCoding/aesgcm``, in base64url or base64, with padding or without.
    /// - Returns: nil if it is not encrypted, or in no way that is known.
    package init?(_ body: [UInt8], encoding: String?, dh: String?, salt: String?) {
        switch encoding.flatMap(WebPushCoding.init(rawValue:)) {
        case .aes128gcm: self = .aes128gcm(body)
        case .aesgcm:
            guard let dh = dh.flatMap({ Base64URL.decoded(Array($0.utf8)[...]) }),
                let salt = salt.flatMap({ Base64URL.decoded(Array($0.utf8)[...]) })
            else { return nil }
            self = .aesgcm(body, dh: dh, salt: salt)
        case nil: return nil
        }
    }
}

/// The two ways in which a body is encrypted, by the name in `Content-Encoding`.
package enum WebPushCoding: String, Sendable, Hashable, CaseIterable {
    case aes128gcm, aesgcm
}

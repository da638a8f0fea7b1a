import Crypto
import Notifications

/// The public keys by which application servers identify themselves (RFC 8292, 3.2).
package enum VAPIDKey {
    /// Whether these bytes are an uncompressed point on the curve P-256.
    package static func isValid(_ bytes: [UInt8]) -> Bool {
        // Why it is not, the caller cannot say either.
        bytes.count == 65 && bytes.first == 4 && (try? P256.Signing.PublicKey(x963Representation: bytes)) != nil
    }

    /// Reads a key as a subscriber writes it: 87 characters of base64url.
    /// - Returns: nil if it is not an uncompressed point on the curve.
    package static func bytes(_ text: String) -> [UInt8]? {
        Base64URL.decoded(Array(text.utf8)[...], .url).flatMap { isValid($0) ? $0 : nil }
    }
}

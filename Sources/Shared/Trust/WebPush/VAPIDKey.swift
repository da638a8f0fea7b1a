package import Credentials
import Crypto
package import Notifications

/// The public keys by which application servers identify themselves (RFC 8292, 3.2).
package enum VAPIDKey {
    /// Whether these bytes are an uncompressed point on the curve P-256.
    package static func isValid(_ bytes: [UInt8]) -> Bool {
        // Why it is not, the caller cannot say either.
        bytes.count == VAPIDRules.keyBytes && bytes.first == 4
            && (try? P256.Signing.PublicKey(x963Representation: bytes)) != nil
    }

    /// Reads the member `vapid` of a wish for a subscription.
    /// - Returns: nil if it is missing, or null.
    /// - Throws: ``TrustError`` if it is there and is no key: ``rule`` says what it has to be.
    package static func wished(in object: JSONObject) throws(TrustError) -> [UInt8]? {
        guard let raw = object[raw: "vapid"], String(decoding: raw, as: UTF8.self) != "null" else { return nil }
        guard let key = object[text: "vapid"].flatMap(bytes) else { throw TrustError(.malformed, rule) }
        return key
    }

    /// Reads a key as a subscriber writes it: 87 characters of base64url, so without padding.
    /// - Returns: nil if it is not an uncompressed point on the curve.
    package static func bytes(_ text: String) -> [UInt8]? {
        Base64URL.decoded(Array(text.utf8)[...], .token).flatMap { isValid($0) ? $0 : nil }
    }

    package static let rule =
        "The vapid key must be an uncompressed point on P-256 in base64url, 87 characters."
}

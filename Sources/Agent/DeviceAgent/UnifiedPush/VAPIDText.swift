import HTTPAPI
import Notifications

/// The form of a VAPID key (RFC 8292, 3.2): an uncompressed point of P-256, 65 bytes in base64url. The service checks that the point is on
/// the curve.
enum VAPIDText {
    static let format = TextFormat("a VAPID key: 87 characters of base64url (RFC 8292, 3.2)", allows: isKey)

    static func isKey(_ text: String) -> Bool {
        let bytes = Base64URL.decoded(Array(text.utf8)[...], .token)
        return bytes?.count == 65 && bytes?.first == 4
    }
}

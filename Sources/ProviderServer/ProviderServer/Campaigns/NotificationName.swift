import Crypto
import Foundation

/// Makes the `apns-id` of a notification from the message and the recipient. So a notification that is sent again after
/// a crash has the same `apns-id`, and nothing has to be stored for it.
enum NotificationName {
    /// Returns a UUID of version 8 (RFC 9562, 5.8), made from a hash.
    static func make(message: String, installation: Int64) -> UUID {
        var bytes = Array(SHA256.hash(data: Data("\(message) \(installation)".utf8)).prefix(16))
        bytes[6] = bytes[6] & 0x0f | 0x80
        bytes[8] = bytes[8] & 0x3f | 0x80
        return UUID(
            uuid: (
                bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
                bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
            ))
    }
}

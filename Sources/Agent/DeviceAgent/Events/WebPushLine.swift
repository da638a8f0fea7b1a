import APNSDevice
import Notifications

/// A Web Push message in JSON, as it is on the device's stream. Missing parts are left out.
struct WebPushLine: Encodable, Sendable {
    let body: String
    let encoding, dh, salt: String?
    let urgency: String
    let topic: String?

    init(_ message: WebPushMessage) {
        body = String(decoding: Base64URL.encoded(message.body), as: UTF8.self)
        (encoding, dh, salt) = (message.encoding, message.dh, message.salt)
        (urgency, topic) = (message.urgency, message.topic)
    }
}

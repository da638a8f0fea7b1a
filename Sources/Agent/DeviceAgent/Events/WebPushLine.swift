import APNSDevice
import Notifications

/// A Web Push message in JSON, as it is on the device's stream: a part that is missing is null.
struct WebPushLine: Encodable, Sendable {
    let body: String
    let encoding, dh, salt: String?
    let urgency: String
    let topic: String?

    private enum CodingKeys: String, CodingKey {
        case body, encoding, dh, salt, urgency, topic
    }

    func encode(to encoder: any Encoder) throws {
        var line = encoder.container(keyedBy: CodingKeys.self)
        try line.encode(body, forKey: .body)
        // Not `encodeIfPresent`, which leaves out what is nil.
        try line.encode(encoding, forKey: .encoding)
        try line.encode(dh, forKey: .dh)
        try line.encode(salt, forKey: .salt)
        try line.encode(urgency, forKey: .urgency)
        try line.encode(topic, forKey: .topic)
    }

    init(_ message: WebPushMessage) {
        body = String(decoding: Base64URL.encoded(message.body), as: UTF8.self)
        (encoding, dh, salt) = (message.encoding, message.dh, message.salt)
        (urgency, topic) = (message.urgency, message.topic)
    }
}

import Notifications

/// A Web Push message as a device receives it (RFC 8030). Its body is encrypted for the app, as a rule: the service and the device's
/// system cannot read it.
public struct WebPushMessage: Sendable, Hashable {
    /// The name that the app gave its subscription.
    public var subscription: String
    /// The body, 0 to 4,096 bytes.
    public var body: [UInt8]
    /// How the body is encrypted: `aes128gcm` (RFC 8291) or `aesgcm`, the draft before it; nil if it is not.
    public var encoding: String?
    /// For `aesgcm`: the sender's public key, in base64url.
    public var dh: String?
    /// For `aesgcm`: the salt, in base64url.
    public var salt: String?
    /// The sender's `Urgency`: `very-low`, `low`, `normal` or `high`.
    public var urgency: String
    /// The sender's `Topic`.
    public var topic: String?

    /// Creates a message that did not come from a courier, for an app's tests.
    public init(
        subscription: String,
        body: [UInt8],
        encoding: String? = nil,
        dh: String? = nil,
        salt: String? = nil,
        urgency: String = "normal",
        topic: String? = nil,
    ) {
        self.subscription = subscription
        self.body = body
        self.encoding = encoding
        self.dh = dh
        self.salt = salt
        self.urgency = urgency
        self.topic = topic
    }
}

extension WebPushMessage {
    /// The `pushType` of a message's line on the stream.
    static let pushType = "webpush"

    /// Reads the parts of a line of the stream.
    /// - Returns: nil if the line has none of a Web Push message, or its body is not base64url.
    init?(_ line: JSONObject) {
        guard let subscription = line[text: "subscription"],
            let parts = line[raw: "webPush"].flatMap({ JSONObject($0) }),
            let text = parts[text: "body"], let body = Base64URL.decoded(Array(text.utf8)[...], .url)
        else { return nil }
        self.init(
            subscription: subscription, body: body, encoding: parts[text: "encoding"], dh: parts[text: "dh"],
            salt: parts[text: "salt"], urgency: parts[text: "urgency"] ?? "normal", topic: parts[text: "topic"])
    }
}

import Notifications

/// A notification as a device receives it.
public struct ReceivedNotification: Sendable, Hashable {
    /// The number to acknowledge after the app has taken the notification. It is unique on this device.
    package var sending: UInt64
    /// The notification's identifier, the provider's `apns-id`, a UUID. It stays the same if the notification is
    /// sent again.
    public var id: String
    /// The topic that the provider addressed: the bundle ID, or the bundle ID with a suffix.
    public var topic: String
    /// The bundle ID of the app that the notification is for.
    public var bundleID: String
    /// The priority: 10, 5 or 1.
    public var priority: Int
    /// The provider's `apns-expiration`: seconds since 1970, or 0; nil if the provider gave none.
    public var expiration: UInt64?
    /// The collapse identifier. A notification replaces an earlier one of the same app with the same collapse
    /// identifier.
    public var collapseID: String?
    /// The provider's `apns-push-type`.
    public var pushType: String?
    /// The identifier of the broadcast channel that it was sent to; nil if it was sent to this device alone.
    public var channel: String?
    /// The identifier of the Live Activity whose own device token the provider used, a UUID; nil for other device
    /// tokens.
    public var activity: String?
    /// Whether the provider used the device token that starts Live Activities.
    public var startToken: Bool
    /// The payload as the device received it: a JSON dictionary in UTF-8. That of a Web Push message is empty: `{}`.
    public var payload: [UInt8]
    /// The Web Push message that it is; nil for a notification of APNs.
    public var webPush: WebPushMessage?

    /// Creates a notification that did not come from a courier, for an app's tests.
    /// - Parameters:
    ///   - id: the identifier, a UUID.
    ///   - topic: the topic that it is addressed to.
    ///   - bundleID: the app that it is for.
    ///   - priority: 10, 5 or 1.
    ///   - expiration: in seconds since 1970, or 0.
    ///   - collapseID: the collapse identifier.
    ///   - pushType: the provider's `apns-push-type`.
    ///   - channel: the broadcast channel that it was sent to.
    ///   - activity: the Live Activity that it is for.
    ///   - startToken: whether the provider used the device token that starts Live Activities.
    ///   - payload: a JSON dictionary in UTF-8.
    public init(
        id: String,
        topic: String,
        bundleID: String,
        priority: Int = 10,
        expiration: UInt64? = nil,
        collapseID: String? = nil,
        pushType: String? = nil,
        channel: String? = nil,
        activity: String? = nil,
        startToken: Bool = false,
        payload: [UInt8],
    ) {
        sending = 0
        self.id = id
        self.topic = topic
        self.bundleID = bundleID
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.pushType = pushType
        self.channel = channel
        self.activity = activity
        self.startToken = startToken
        self.payload = payload
    }

    /// Creates a Web Push message that did not come from a courier, for an app's tests.
    /// - Parameters:
    ///   - id: the identifier, a UUID.
    ///   - bundleID: the app that it is for.
    ///   - priority: 10, 5 or 1.
    ///   - expiration: in seconds since 1970, or 0.
    ///   - webPush: the message.
    public init(
        id: String,
        bundleID: String,
        priority: Int = 5,
        expiration: UInt64? = nil,
        webPush: WebPushMessage,
    ) {
        self.init(
            id: id, topic: bundleID, bundleID: bundleID, priority: priority, expiration: expiration,
            pushType: WebPushMessage.pushType, payload: Array("{}".utf8))
        self.webPush = webPush
    }
}

extension ReceivedNotification {
    /// Reads a line of the stream.
    /// - Returns: nil if the line is not a notification.
    init?(_ object: JSONObject) {
        guard let sending = object[number: "sending"], let id = object[text: "id"], NotificationID(id) != nil,
            let topic = object[text: "topic"], let bundleID = object[text: "bundleID"],
            let priority = object[number: "priority"], priority <= 10
        else { return nil }
        let webPush = WebPushMessage(object)
        let isWebPush = object[text: "pushType"] == WebPushMessage.pushType
        // A Web Push message has no payload: its body is opaque.
        let payload = isWebPush ? Array("{}".utf8) : object[raw: "payload"]
        guard let payload, payload.first == UInt8(ascii: "{"), isWebPush == (webPush != nil) else { return nil }
        self.init(
            // fits: at most 10
            id: id, topic: topic, bundleID: bundleID, priority: Int(priority), expiration: object[number: "expiration"],
            collapseID: object[text: "collapseID"], pushType: object[text: "pushType"],
            channel: object[text: "channel"], activity: object[text: "activity"],
            startToken: object[raw: "startToken"].map { $0.elementsEqual("true".utf8) } ?? false, payload: payload)
        self.webPush = webPush
        self.sending = sending
    }
}

import Notifications

/// A notification as a device receives it.
public struct ReceivedNotification: Sendable, Hashable {
    /// What to acknowledge once the app has taken it; its own on this device.
    package var sending: UInt64
    /// The provider's `apns-id`, a UUID: the same when it is sent again.
    public var id: String
    /// The topic as the provider wrote it: the bundle ID, or that with a suffix.
    public var topic: String
    /// The app it is for.
    public var bundleID: String
    /// 10, 5 or 1.
    public var priority: Int
    /// Seconds since 1970, or 0, as the provider wrote it; nil where it wrote nothing.
    public var expiration: UInt64?
    /// A notification with the same one on the same app is shown in place of an earlier one.
    public var collapseID: String?
    /// The provider's `apns-push-type`.
    public var pushType: String?
    /// The payload as it came: a JSON dictionary in UTF-8.
    public var payload: [UInt8]

    /// Makes a notification that did not come from a courier, for an app's tests.
    /// - Parameters:
    ///   - id: a UUID.
    ///   - topic: what it is addressed to.
    ///   - bundleID: the app that gets it.
    ///   - priority: 10, 5 or 1.
    ///   - expiration: in seconds since 1970.
    ///   - collapseID: shown in the place of an earlier one with the same.
    ///   - pushType: what it is for.
    ///   - payload: a JSON dictionary in UTF-8.
    public init(
        id: String,
        topic: String,
        bundleID: String,
        priority: Int = 10,
        expiration: UInt64? = nil,
        collapseID: String? = nil,
        pushType: String? = nil,
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
        self.payload = payload
    }
}

extension ReceivedNotification {
    /// - Returns: nil when the line is not a notification.
    init?(_ object: JSONObject) {
        guard let sending = object[number: "sending"], let id = object[text: "id"], NotificationID(id) != nil,
            let topic = object[text: "topic"], let bundleID = object[text: "bundleID"],
            let priority = object[number: "priority"], priority <= 10,
            let payload = object[raw: "payload"], payload.first == UInt8(ascii: "{")
        else { return nil }
        self.init(
            id: id, topic: topic, bundleID: bundleID, priority: Int(priority), expiration: object[number: "expiration"],
            collapseID: object[text: "collapseID"], pushType: object[text: "pushType"],
            payload: payload)
        self.sending = sending
    }
}

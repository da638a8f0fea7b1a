import Notifications

/// A notification as a device receives it.
package struct ReceivedNotification: Sendable, Hashable {
    /// What to acknowledge once the app has taken it.
    package var sending: UInt64
    /// The `apns-id`: the same when it is sent again.
    package var id: String
    package var topic: String
    package var bundleID: String
    package var priority: UInt64
    /// The payload, as it came: a JSON dictionary in UTF-8.
    package var payload: [UInt8]

    /// - Returns: nil when the line is not a notification.
    init?(_ object: JSONObject) {
        guard let sending = object[number: "sending"], let id = object[plain: "id"],
            let topic = object[plain: "topic"], let bundleID = object[plain: "bundleID"],
            let priority = object[number: "priority"], let payload = object[raw: "payload"]
        else { return nil }
        self.sending = sending
        self.id = id
        self.topic = topic
        self.bundleID = bundleID
        self.priority = priority
        self.payload = payload
    }
}

/// A notification that a provider sends to one app on one device.
///
/// It is one reference, because it is passed on a dozen times between the request and the device.
package struct Notification: Sendable, Hashable {
    private var box: Box

    /// The fields. They never change after the notification was made.
    private final class Box: Sendable {
        let fields: Fields
        init(_ fields: Fields) { self.fields = fields }
    }

    package struct Fields: Sendable, Hashable {
        package var id: NotificationID
        /// The topic: a bundle ID, or a bundle ID and a suffix.
        package var topic: String
        /// The push type; nil if the provider gave none.
        package var pushType: PushType?
        package var priority: Priority
        package var expiration: Expiration
        package var collapseID: CollapseIdentifier?
        /// Which Live Activities it may change; nil if the provider used no device token of Live Activities.
        package var activity: ActivityTarget?
        package var payload: Payload
    }

    package init(
        id: NotificationID,
        topic: String,
        pushType: PushType? = nil,
        priority: Priority = .immediate,
        expiration: Expiration = .unspecified,
        collapseID: CollapseIdentifier? = nil,
        activity: ActivityTarget? = nil,
        payload: Payload,
    ) {
        box = Box(
            Fields(
                id: id, topic: topic, pushType: pushType, priority: priority, expiration: expiration,
                collapseID: collapseID, activity: activity, payload: payload))
    }

    package static func == (left: Notification, right: Notification) -> Bool {
        left.box === right.box || left.fields == right.fields
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(fields) }
}

extension Notification {
    /// All fields, for a copy with changes.
    package var fields: Fields {
        get { box.fields }
        set { box = Box(newValue) }
    }

    package var id: NotificationID { box.fields.id }
    package var topic: String { box.fields.topic }
    package var pushType: PushType? { box.fields.pushType }
    package var priority: Priority { box.fields.priority }
    package var expiration: Expiration { box.fields.expiration }
    package var collapseID: CollapseIdentifier? { box.fields.collapseID }
    package var activity: ActivityTarget? { box.fields.activity }
    package var payload: Payload { box.fields.payload }
}

extension Notification {
    /// Whether it can be written to a device's stream: false if the store's disk has damaged it.
    package var isSound: Bool {
        let isTopic = topic.utf8.allSatisfy { byte in
            (0x21...0x7e).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
        }
        return isTopic && payload.isSound
    }
}

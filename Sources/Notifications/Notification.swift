/// What a provider hands over for one app on one device.
package struct Notification: Sendable, Hashable {
    package var id: NotificationID
    /// What it is addressed to: a bundle ID, or one with a suffix.
    package var topic: String
    /// Nil where the provider did not say.
    package var pushType: PushType?
    package var priority: Priority
    package var expiration: Expiration
    package var collapseID: CollapseIdentifier?
    package var payload: Payload

    package init(
        id: NotificationID,
        topic: String,
        pushType: PushType? = nil,
        priority: Priority = .immediate,
        expiration: Expiration = .unspecified,
        collapseID: CollapseIdentifier? = nil,
        payload: Payload,
    ) {
        self.id = id
        self.topic = topic
        self.pushType = pushType
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.payload = payload
    }
}

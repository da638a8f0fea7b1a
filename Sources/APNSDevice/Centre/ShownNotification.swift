/// A notification on show.
public struct ShownNotification: Sendable, Hashable, Identifiable {
    /// The notification as it came.
    public var notification: ReceivedNotification
    /// What is shown of it.
    public var content: NotificationContent
    /// The actions of its category.
    public var actions: [NotificationAction]
    /// The order in which notifications were put on show: a later one has a greater number.
    public internal(set) var number: UInt64 = 0

    public var id: String { notification.id }
    public var bundleID: String { notification.bundleID }

    public init(
        _ notification: ReceivedNotification,
        _ content: NotificationContent,
        actions: [NotificationAction] = [],
    ) {
        self.notification = notification
        self.content = content
        self.actions = actions
    }
}

/// A notification on show.
public struct ShownNotification: Sendable, Hashable, Identifiable {
    /// The notification as it came.
    public var notification: ReceivedNotification
    /// What is shown of it.
    public var content: NotificationContent
    /// The actions of its category.
    public var actions: [NotificationAction]
    /// How the user wants the app's alerts to be displayed.
    public var style: AppSettings.AlertStyle
    /// Whether the app's notification content extension draws it for a user who looks closely.
    public var hasContentExtension: Bool
    /// The order in which notifications were put on show: a later one has a greater number.
    public internal(set) var number: UInt64 = 0

    public var id: String { notification.id }
    public var bundleID: String { notification.bundleID }

    public init(
        _ notification: ReceivedNotification,
        _ content: NotificationContent,
        actions: [NotificationAction] = [],
        style: AppSettings.AlertStyle = .banner,
        hasContentExtension: Bool = false,
    ) {
        self.notification = notification
        self.content = content
        self.actions = actions
        self.style = style
        self.hasContentExtension = hasContentExtension
    }
}

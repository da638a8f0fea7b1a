/// A notification that the device shows.
public struct ShownNotification: Sendable, Hashable, Identifiable {
    /// The notification as the device received it.
    public var notification: ReceivedNotification
    /// The content that is shown.
    public var content: NotificationContent
    /// The actions of the notification's category.
    public var actions: [NotificationAction]
    /// The style that the user chose for the app's alerts.
    public var style: AppSettings.AlertStyle
    /// Whether the app's notification content extension draws the notification when the user expands it.
    public var hasContentExtension: Bool
    /// The number of the notification in the order of showing. A later notification has a greater number.
    public internal(set) var number: UInt64 = 0

    /// The notification's identifier, a UUID.
    public var id: String { notification.id }
    /// The bundle ID of the notification's app.
    public var bundleID: String { notification.bundleID }

    /// Creates a notification to show.
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

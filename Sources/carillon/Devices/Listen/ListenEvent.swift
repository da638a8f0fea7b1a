import APNSDevice

/// An event on a listening device, which is shown to a person or a program.
enum ListenEvent: Sendable {
    case system(DeviceSystem.Event)
    /// The app, or one of its services, got a device token that was not printed yet.
    case registered(bundleID: String, PushService? = nil, deviceToken: String)
    /// The app in the foreground got a notification.
    case received(ReceivedNotification, NotificationContent)
    case responded(ShownNotification, NotificationResponse)
    /// The app was told the user's preferred languages.
    case prefers(bundleID: String, languages: [String])
    /// The user changed the app's state; nil if the app was removed.
    case state(bundleID: String, AppState?)
    /// The user selected another app.
    case selected(bundleID: String)
    case settings(bundleID: String, AppSettings)
    /// The user looks at the notification centre.
    case centre(NotificationCentre)
}

/// Shows events.
protocol ListenOutput: Sendable {
    /// Called with the events in their order. It must return soon.
    func handle(_ event: ListenEvent)
    /// Runs until ``finish()``.
    func run() async
    func finish()
}

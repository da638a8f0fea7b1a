import APNSDevice

/// What happens on a device that listens, as a person or a program is told.
enum ListenEvent: Sendable {
    case system(DeviceSystem.Event)
    /// The app got a device token that was not told yet.
    case registered(bundleID: String, deviceToken: String)
    /// The app in the foreground was given a notification.
    case received(ReceivedNotification, NotificationContent)
    case responded(ShownNotification, NotificationResponse)
    /// The app was told the user's languages.
    case prefers(bundleID: String, languages: [String])
    /// The user changed the app's state; nil for an app that is removed.
    case state(bundleID: String, AppState?)
    /// The user turned to another app.
    case selected(bundleID: String)
    case settings(bundleID: String, AppSettings)
    /// The user looks at the centre.
    case centre(NotificationCentre)
}

/// Tells what happens.
protocol ListenOutput: Sendable {
    /// Is told in the order in which things happen; has to return soon.
    func tell(_ event: ListenEvent)
    /// Runs until ``finish()``.
    func run() async
    func finish()
}

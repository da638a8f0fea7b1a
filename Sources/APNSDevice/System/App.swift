/// An app on the device, as the system sees it (Guide, 2.1.4.4 and 2.2). Every method has an implementation that does
/// nothing.
public protocol App: Sendable {
    /// The app was launched and has registered; the same device token as at the last launch, mostly. Give it to the
    /// provider each time: never keep it here instead (Guide, 2.1.4.4).
    func registered(deviceToken: String) async

    /// Registering failed; the app may ask again by being launched again.
    func registrationFailed(_ error: DeviceError) async

    /// A notification arrived while the app is in the foreground. The app has it; what is shown besides, it says.
    func received(_ notification: ReceivedNotification, _ content: NotificationContent) async -> Presentation

    /// The user's languages, the preferred one first: told at each launch, once the app has registered, and when the user
    /// changes them while the app runs. Give the first of them to the provider, if it is the provider that translates
    /// (Guide, 2.2.4.1).
    func userPrefers(languages: [String]) async

    /// A silent notification, or one with `content-available`, woke the app in the background. It has 30 seconds; then
    /// the task is cancelled and counts as timed out (Guide, 2.2.2).
    func woken(by notification: ReceivedNotification) async -> BackgroundResult

    /// The user did something with a notification of the app's.
    func responded(to notification: ShownNotification, with response: NotificationResponse) async

    /// The notification service extension: changes what is shown of a notification with `mutable-content`. It has 30
    /// seconds; then the task is cancelled, and the notification is shown as it came.
    func modified(_ content: NotificationContent, of notification: ReceivedNotification) async -> NotificationContent

    /// The notification content extension: draws a notification that the user looks at closely, if its category says
    /// that there is one. It has 30 seconds; after that, or if it returns nil, the system shows the notification itself.
    /// - Parameters:
    ///   - notification: the one that the user looks at.
    ///   - earlier: those on show with the same thread identifier, the newest first: an extension can group them (Guide,
    ///     Table 9-1, `thread-id`).
    func view(of notification: ShownNotification, after earlier: [ShownNotification]) async -> NotificationView?

    // MARK: Pushes of other services

    // None of them is shown by the system, but for the alert of a Live Activity. The app has 30 seconds for each; then the
    // task is cancelled. An app that was never opened, or that the user has ended, gets none.

    /// A call comes in (`.voip`).
    func receivedCall(_ push: ReceivedNotification) async
    /// There is new data for a complication (`.complication`).
    func receivedComplication(_ push: ReceivedNotification) async
    /// Files that the app provides have changed (`.pushkit.fileprovider`).
    func receivedFileChange(_ push: ReceivedNotification) async
    /// Somebody asks where the user is (`.location-query`).
    func receivedLocationQuery(_ push: ReceivedNotification) async
    /// A Live Activity starts, changes or ends (`.push-type.liveactivity`).
    func receivedActivity(_ push: ReceivedNotification) async
    /// Someone talks, or joins or leaves a channel (`.voip-ptt`).
    func receivedTalk(_ push: ReceivedNotification) async
    /// The app's controls have a new state (`.push-type.controls`).
    func receivedControlChange(_ push: ReceivedNotification) async
    /// There is new data for the app's widgets (`.push-type.widgets`).
    func receivedWidgetChange(_ push: ReceivedNotification) async
    /// The device is to ask its management server (push type `mdm`).
    func receivedManagement(_ push: ReceivedNotification) async
}

extension App {
    public func registered(deviceToken: String) async {}
    public func registrationFailed(_ error: DeviceError) async {}
    public func received(
        _ notification: ReceivedNotification,
        _ content: NotificationContent,
    ) async -> Presentation { [] }
    public func userPrefers(languages: [String]) async {}
    public func woken(by notification: ReceivedNotification) async -> BackgroundResult { .noData }
    public func responded(to notification: ShownNotification, with response: NotificationResponse) async {}
    public func modified(
        _ content: NotificationContent,
        of notification: ReceivedNotification,
    ) async -> NotificationContent { content }
    public func view(
        of notification: ShownNotification,
        after earlier: [ShownNotification],
    ) async -> NotificationView? { nil }
    public func receivedCall(_ push: ReceivedNotification) async {}
    public func receivedComplication(_ push: ReceivedNotification) async {}
    public func receivedFileChange(_ push: ReceivedNotification) async {}
    public func receivedLocationQuery(_ push: ReceivedNotification) async {}
    public func receivedActivity(_ push: ReceivedNotification) async {}
    public func receivedTalk(_ push: ReceivedNotification) async {}
    public func receivedControlChange(_ push: ReceivedNotification) async {}
    public func receivedWidgetChange(_ push: ReceivedNotification) async {}
    public func receivedManagement(_ push: ReceivedNotification) async {}
}

extension App {
    /// Hands a push to the method that is for its service.
    func received(_ push: ReceivedNotification, for service: PushService) async {
        switch service {
        case .voip: await receivedCall(push)
        case .complication: await receivedComplication(push)
        case .fileProvider: await receivedFileChange(push)
        case .location: await receivedLocationQuery(push)
        case .liveActivity: await receivedActivity(push)
        case .pushToTalk: await receivedTalk(push)
        case .controls: await receivedControlChange(push)
        case .widgets: await receivedWidgetChange(push)
        case .mdm: await receivedManagement(push)
        }
    }
}

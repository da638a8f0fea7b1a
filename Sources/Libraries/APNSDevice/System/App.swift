/// An app on the device, as the system calls it (Guide, 2.1.4.4 and 2.2). Each method has a default implementation.
public protocol App: Sendable {
    /// Called after the app was launched and has registered. The device token is usually the same as at the last
    /// launch. Hand it to the provider each time, and do not cache it (Guide, 2.1.4.4).
    func registered(deviceToken: String) async

    /// Called if registering failed. The app registers again at its next launch.
    func registrationFailed(_ error: DeviceError) async

    /// Called when a notification arrives while the app is in the foreground. The app gets the notification, and
    /// returns what the system shows of it.
    func received(_ notification: ReceivedNotification, _ content: NotificationContent) async -> Presentation

    /// Called with the user's languages, the preferred one first: at each launch after the app has registered, and
    /// when the user changes them while the app runs. Hand the first one to the provider if the provider translates
    /// (Guide, 2.2.4.1).
    func userPrefers(languages: [String]) async

    /// Called when a silent notification, or one with `content-available`, wakes the app in the background. After 30
    /// seconds the task is cancelled and counts as timed out (Guide, 2.2.2).
    func woken(by notification: ReceivedNotification) async -> BackgroundResult

    /// Called when the user responds to a notification of the app.
    func responded(to notification: ShownNotification, with response: NotificationResponse) async

    /// The notification service extension: changes the content of a notification with `mutable-content` before it is
    /// shown. After 30 seconds the task is cancelled and the notification is shown unchanged.
    func modified(_ content: NotificationContent, of notification: ReceivedNotification) async -> NotificationContent

    /// The notification content extension: draws a notification that the user expands, if its category has such an
    /// extension. If it returns nil or takes more than 30 seconds, the system shows the notification itself.
    /// - Parameters:
    ///   - notification: the notification that the user expands.
    ///   - earlier: the shown notifications with the same thread identifier, the newest first, so that the extension
    ///     can group them (Guide, Table 9-1, `thread-id`).
    func view(of notification: ShownNotification, after earlier: [ShownNotification]) async -> NotificationView?

    // MARK: Pushes of other services

    // The system shows none of these pushes, except the alert of a Live Activity. After 30 seconds the task is
    // cancelled. An app that was never opened does not get them. If the user has ended the app, a call starts it again,
    // and its widgets and controls, which are programs of their own, get theirs.

    /// Called for an incoming call (`.voip`).
    func receivedCall(_ push: ReceivedNotification) async
    /// Called for new data for a complication (`.complication`).
    func receivedComplication(_ push: ReceivedNotification) async
    /// Called when files that the app provides have changed (`.pushkit.fileprovider`).
    func receivedFileChange(_ push: ReceivedNotification) async
    /// Called for a request for the user's location (`.location-query`).
    func receivedLocationQuery(_ push: ReceivedNotification) async
    /// Called when a Live Activity starts, changes or ends (`.push-type.liveactivity`).
    func receivedActivity(_ push: ReceivedNotification) async
    /// Called when a Live Activity has got the device token for its updates. Hand it to the provider, together with
    /// what the activity shows.
    func activityRegistered(_ activity: LiveActivity, deviceToken: String) async
    /// Called when someone talks in a channel, joins it or leaves it (`.voip-ptt`).
    func receivedTalk(_ push: ReceivedNotification) async
    /// Called when the app's controls have a new state (`.push-type.controls`).
    func receivedControlChange(_ push: ReceivedNotification) async
    /// Called for new data for the app's widgets (`.push-type.widgets`).
    func receivedWidgetChange(_ push: ReceivedNotification) async
    /// Called when the device has to contact its management server (push type `mdm`).
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
    public func activityRegistered(_ activity: LiveActivity, deviceToken: String) async {}
    public func receivedTalk(_ push: ReceivedNotification) async {}
    public func receivedControlChange(_ push: ReceivedNotification) async {}
    public func receivedWidgetChange(_ push: ReceivedNotification) async {}
    public func receivedManagement(_ push: ReceivedNotification) async {}
}

extension App {
    /// Hands a push to the method for its service.
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

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

    /// A silent notification, or one with `content-available`, woke the app in the background. It has 30 seconds; then
    /// the task is cancelled and counts as timed out (Guide, 2.2.2).
    func woken(by notification: ReceivedNotification) async -> BackgroundResult

    /// The user did something with a notification of the app's.
    func responded(to notification: ShownNotification, with response: NotificationResponse) async

    /// The notification service extension: changes what is shown of a notification with `mutable-content`. It has 30
    /// seconds; then the task is cancelled, and the notification is shown as it came.
    func modified(_ content: NotificationContent, of notification: ReceivedNotification) async -> NotificationContent
}

extension App {
    public func registered(deviceToken: String) async {}
    public func registrationFailed(_ error: DeviceError) async {}
    public func received(
        _ notification: ReceivedNotification,
        _ content: NotificationContent,
    ) async -> Presentation { [] }
    public func woken(by notification: ReceivedNotification) async -> BackgroundResult { .noData }
    public func responded(to notification: ShownNotification, with response: NotificationResponse) async {}
    public func modified(
        _ content: NotificationContent,
        of notification: ReceivedNotification,
    ) async -> NotificationContent { content }
}

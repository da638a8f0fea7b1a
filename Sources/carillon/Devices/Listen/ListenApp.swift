import APNSDevice
import CommandSupport
import Synchronization

/// An app on a listening device. It reports what the system tells it.
final class ListenApp: App {
    private let bundleID: String
    private let output: any ListenOutput
    private let deviceToken: Mutex<String?>

    /// - Parameter deviceToken: the device token that was printed already.
    init(_ bundleID: String, deviceToken: String?, output: any ListenOutput) {
        self.bundleID = bundleID
        self.output = output
        self.deviceToken = Mutex(deviceToken)
    }

    func registered(deviceToken: String) async {
        let isKnown = self.deviceToken.withLock { known in
            defer { known = deviceToken }
            return known == deviceToken
        }
        if !isKnown { output.handle(.registered(bundleID: bundleID, deviceToken: deviceToken)) }
    }

    func registrationFailed(_ error: DeviceError) async { output.handle(.system(.problem(error))) }

    func received(_ notification: ReceivedNotification, _ content: NotificationContent) async -> Presentation {
        output.handle(.received(notification, content))
        return []
    }

    func userPrefers(languages: [String]) async { output.handle(.prefers(bundleID: bundleID, languages: languages)) }

    func woken(by notification: ReceivedNotification) async -> BackgroundResult { .newData }

    func responded(to notification: ShownNotification, with response: NotificationResponse) async {
        output.handle(.responded(notification, response))
    }
}

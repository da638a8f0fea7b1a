import APNSDevice
import Foundation
import Notifications

/// What a person sees of a device that listens, and what comes of the keys.
final actor ListenScreen {
    private let system: DeviceSystem
    private let output: Output
    private let strings: Localizations
    private let categories: [NotificationCategory]
    private let takesKeys = Terminal.isInteractive
    private var times: [String: String] = [:]

    init(_ system: DeviceSystem, output: Output, strings: Localizations, categories: [NotificationCategory]) {
        self.system = system
        self.output = output
        self.strings = strings
        self.categories = categories
    }

    /// Puts an app on the device, which has registered.
    func install(_ bundleID: String) async {
        await system.install(
            bundleID, ScreenApp(bundleID: bundleID), localizations: strings, wasLaunched: true, categories: categories)
    }

    /// Draws what happened, in order.
    func show(_ events: AsyncStream<DeviceSystem.Event>) async {
        for await event in events {
            switch event {
            case .shown(let shown): await show(shown)
            case .badge(let badge, let bundleID):
                Self.write("\(bundleID): badge \(badge == 0 ? "taken away" : "\(badge)")")
            case .woken(let notification, _):
                Self.write("\(notification.bundleID): silent  \(String(decoding: notification.payload, as: UTF8.self))")
            case .stateChanged(.disconnected(let error, _)): Output.note("Disconnected: \(error)")
            case .problem(let error): Output.note("\(error)")
            case .sound, .givenToApp, .dropped, .deviceTokenChanged, .stateChanged: break
            }
        }
    }

    private func show(_ shown: ShownNotification) async {
        let time = Date().formatted(.dateTime.hour(.twoDigits(amPM: .omitted)).minute(.twoDigits))
        let centre = await system.centre
        // Only what is on show has a time.
        let known = Set(centre.notifications.map(\.id))
        times = times.filter { known.contains($0.key) }
        times[shown.id] = time
        let drawing = BannerDrawing(columns: Terminal.columns, takesKeys: takesKeys)
        let badge = centre.badge(of: shown.bundleID)
        Self.write(drawing.lines(shown, badge: badge, time: time).joined(separator: "\n"))
    }

    /// Does what the keys say, until one says to end.
    func obey(_ keys: AsyncStream<UInt8>) async {
        for await key in keys {
            let newest = await system.centre.notifications.first
            switch ListenKey(key, actions: newest?.actions ?? []) {
            case .respond(let response):
                if let newest { await system.respond(to: newest.id, with: response) }
                // Whatever it opened is left again.
                if let newest { await system.enterBackground(newest.bundleID) }
            case .showCentre:
                let drawing = BannerDrawing(columns: Terminal.columns, takesKeys: false)
                Self.write(drawing.lines(await system.centre, times: times).joined(separator: "\n"))
            case .quit: return
            case nil: break
            }
        }
    }

    static func write(_ text: String) { Output(isJSON: false).printRaw("", text) }
}

/// An app on the screen: says what the user did with it.
private struct ScreenApp: App {
    let bundleID: String

    func woken(by notification: ReceivedNotification) async -> BackgroundResult { .newData }

    func responded(to notification: ShownNotification, with response: NotificationResponse) async {
        switch response {
        case .open: ListenScreen.write("\(bundleID): opened \(notification.id)")
        case .dismiss: ListenScreen.write("\(bundleID): dismissed \(notification.id)")
        case .action(let action): ListenScreen.write("\(bundleID): action \(action) of \(notification.id)")
        }
    }
}

import APNSDevice
import CommandSupport
import Foundation
import Notifications

/// Shows a person what happens on a listening device.
final class ListenScreen: ListenOutput {
    private let output = Output(isJSON: false)
    private let takesKeys: Bool
    private let (events, event) = AsyncStream.makeStream(of: ListenEvent.self)

    /// - Parameter takesKeys: whether to show which keys the user can press.
    init(takesKeys: Bool) { self.takesKeys = takesKeys }

    func handle(_ event: ListenEvent) { self.event.yield(event) }
    func finish() { event.finish() }

    /// Draws the events in their order.
    func run() async {
        var drawing = Drawing(columns: Terminal.columns, takesKeys: takesKeys)
        for await event in events {
            drawing.columns = Terminal.columns
            for text in drawing.texts(event, at: Date()) { output.printRaw("", text) }
        }
    }
}

extension ListenScreen {
    /// Makes the text for each event. It depends on what was drawn before.
    struct Drawing {
        var columns: Int
        let takesKeys: Bool
        /// When each notification on show arrived.
        private var times: [String: String] = [:]
        /// The notifications that are shown now, computed from all events so far.
        private var centre = NotificationCentre()
        /// The app whose banner was drawn last, if the banner shows a sound whose event has not arrived yet.
        private var drawn: String?

        init(columns: Int, takesKeys: Bool) {
            self.columns = columns
            self.takesKeys = takesKeys
        }

        mutating func texts(_ event: ListenEvent, at now: Date) -> [String] {
            switch event {
            case .system(let event): return texts(event, at: now)
            case .registered(let bundleID, let service, let token):
                let name = service.map { "\(bundleID) for \($0.rawValue)" } ?? bundleID
                return ["Registered \(name), device token \(token)"]
            case .received(let notification, _): return [Self.text(notification, "in the foreground")]
            case .responded(let shown, let response): return [Self.text(shown, response)]
            case .prefers: return []
            case .state(let bundleID, let state): return ["\(bundleID): \(Self.text(state))"]
            case .selected(let bundleID): return ["\(bundleID): what the keys are for now"]
            case .settings(let bundleID, let settings):
                let parts = [
                    "alerts \(settings.alerts.rawValue)", "sounds \(settings.sounds ? "on" : "off")",
                    "badges \(settings.badges ? "on" : "off")",
                ]
                return ["\(bundleID): \(parts.joined(separator: ", "))"]
            case .centre(let centre):
                let drawing = BannerDrawing(columns: columns, takesKeys: false)
                return [drawing.lines(centre, times: times).joined(separator: "\n")]
            }
        }

        private mutating func texts(_ event: DeviceSystem.Event, at now: Date) -> [String] {
            switch event {
            case .shown(let shown):
                let sounds = shown.content.sound != nil && shown.content.interruptionLevel != .passive
                drawn = sounds ? shown.bundleID : nil
                return [banner(shown, at: now)]
            case .badge(let badge, let bundleID):
                centre.setBadge(badge, of: bundleID)
                return ["\(bundleID): badge \(badge == 0 ? "removed" : "\(badge)")"]
            case .sound(let sound, let bundleID):
                defer { drawn = nil }
                // The banner has already shown the sound.
                return drawn == bundleID ? [] : ["\(bundleID): ♪ \(TerminalText.clean(sound.name))"]
            case .woken(let notification, _): return [Self.text(notification, "silent")]
            case .pushed(let notification, let service): return [Self.text(notification, service.rawValue)]
            case .webPush(let notification):
                let message = notification.webPush
                let name = TerminalText.clean(message?.subscription ?? "")
                return ["\(notification.bundleID): Web Push for \(name), \(message?.body.count ?? 0) bytes"]
            case .dropped(let notification, let reason): return [Self.text(notification, "dropped, \(reason.rawValue)")]
            case .activity(let activity, let change): return [Self.text(activity, change)]
            case .activityRegistered(let activity, let token):
                return ["Registered \(activity.bundleID) for its Live Activity, device token \(token)"]
            case .expanded(let shown, let view):
                return ["\(shown.bundleID): \(shown.id)"] + view.lines.map { "  " + TerminalText.clean($0) }
            case .languagesChanged(let languages): return ["Language: \(languages.joined(separator: ", "))"]
            case .stateChanged(.disconnected(let error, _)):
                Output.printDiagnostic("Disconnected: \(error)")
                return []
            case .problem(let error):
                Output.printDiagnostic("\(error)")
                return []
            // These need no line: the line of the user's response says this, or people do not need it.
            case .opened, .givenToApp, .deviceTokenChanged, .stateChanged: return []
            }
        }

        private mutating func banner(_ shown: ShownNotification, at now: Date) -> String {
            let time = BannerDrawing.time(now)
            centre.show(shown)
            // Keep times only of notifications on show.
            let known = Set(centre.notifications.map(\.id))
            times = times.filter { known.contains($0.key) }
            times[shown.id] = time
            let drawing = BannerDrawing(columns: columns, takesKeys: takesKeys)
            // The event with the new badge comes later, but the banner already shows the badge.
            let badge = shown.content.badge ?? centre.badge(of: shown.bundleID)
            return drawing.lines(shown, badge: badge, time: time).joined(separator: "\n")
        }

        private static func text(_ activity: LiveActivity, _ change: LiveActivity.Change) -> String {
            let state = TerminalText.clean(String(decoding: activity.contentState, as: UTF8.self))
            let until = activity.dismissal.map { ", on show until \($0.formatted(.iso8601))" } ?? ""
            return "\(activity.bundleID): Live Activity \(TerminalText.clean(activity.attributesType)) "
                + "\(change.rawValue)\(change == .dismissed ? "" : until): \(state)"
        }

        private static func text(_ notification: ReceivedNotification, _ what: String) -> String {
            let payload = String(decoding: notification.payload, as: UTF8.self)
            return "\(notification.bundleID): \(what)  \(TerminalText.clean(payload))"
        }

        private static func text(_ shown: ShownNotification, _ response: NotificationResponse) -> String {
            switch response {
            case .open:
                let image = shown.content.launchImage.map { ", launch image \(TerminalText.clean($0))" } ?? ""
                let window = shown.content.targetContentID.map { ", window \(TerminalText.clean($0))" } ?? ""
                return "\(shown.bundleID): opened \(shown.id)\(image)\(window)"
            case .dismiss: return "\(shown.bundleID): dismissed \(shown.id)"
            case .action(let action): return "\(shown.bundleID): action \(action) of \(shown.id)"
            }
        }

        private static func text(_ state: AppState?) -> String {
            switch state {
            case .foreground: "in the foreground"
            case .background: "in the background"
            case .forceQuit: "ended by the user"
            case .neverLaunched: "on the device, and never opened"
            case nil: "removed"
            }
        }
    }
}

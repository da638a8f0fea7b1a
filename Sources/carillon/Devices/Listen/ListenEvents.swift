import APNSDevice
import CommandSupport
import DeviceAgent
import Foundation

/// Prints for a program what the apps are told and what the user sees: one line of JSON for each event.
///
/// The line of a notification is written before the notification is acknowledged.
struct ListenEvents: ListenOutput {
    private let output = Output(isJSON: true)
    let reader: MessageReader

    func run() async {}
    func finish() {}

    func handle(_ event: ListenEvent) {
        switch event {
        case .system(let event): handle(event)
        case .registered(let bundleID, let service, let token):
            output.printRaw(EventLine.registered(bundleID, service, token).text, "")
        case .received(let notification, let content):
            output.printRaw(EventLine.received(notification, content).text, "")
        case .responded(let shown, let response):
            output.printRaw(EventLine.responded(shown, response).text, "")
        case .prefers(let bundleID, let languages):
            print("languages") {
                $0.add("bundleID", bundleID)
                $0.add("languages", value: languages)
            }
        case .state(let bundleID, let state):
            print("state") {
                $0.add("bundleID", bundleID)
                $0.add("state", state?.rawValue ?? "removed")
            }
        case .settings(let bundleID, let settings):
            print("settings") {
                $0.add("bundleID", bundleID)
                $0.add("alerts", settings.alerts.rawValue)
                $0.add("sounds", value: settings.sounds)
                $0.add("badges", value: settings.badges)
            }
        case .selected(let bundleID):
            print("selected") { $0.add("bundleID", bundleID) }
        case .centre(let centre):
            print("centre") { $0.add("ids", value: centre.notifications.map(\.id)) }
        }
    }

    private func handle(_ event: DeviceSystem.Event) {
        switch event {
        case .shown(let shown):
            output.printRaw(EventLine.shown(shown).text, "")
        case .badge(let badge, let bundleID):
            print("badge") {
                $0.add("bundleID", bundleID)
                $0.add("badge", value: badge)
            }
        case .sound(let sound, let bundleID):
            print("sound") {
                $0.add("bundleID", bundleID)
                $0.add("sound", value: ContentLine.Sound(sound))
            }
        case .woken(let notification, let result):
            print("woken") {
                $0.add("result", "\(result)")
                $0.add(notification)
            }
        case .pushed(let notification, let service):
            output.printRaw(EventLine.pushed(notification, service).text, "")
        case .webPush(let notification):
            output.printRaw(EventLine.webPush(notification, text: reader.text(notification)).text, "")
        case .dropped(let notification, let reason):
            print("dropped") {
                $0.add("reason", reason.rawValue)
                $0.add(notification)
            }
        case .opened(let shown):
            print("opened") {
                $0.add("id", shown.id)
                $0.add("bundleID", shown.bundleID)
                $0.add("launchImage", shown.content.launchImage)
                $0.add("targetContentID", shown.content.targetContentID)
            }
        case .expanded(let shown, let view):
            print("expanded") {
                $0.add("id", shown.id)
                $0.add("bundleID", shown.bundleID)
                $0.add("lines", value: view.lines)
            }
        case .activity(let activity, let change):
            print("activity") {
                $0.add("change", change.rawValue)
                $0.add(activity)
            }
        case .activityRegistered(let activity, let token):
            print("registered") {
                $0.add("bundleID", activity.bundleID)
                $0.add("service", PushService.liveActivity.rawValue)
                $0.add("activity", activity.id.uuidString.lowercased())
                $0.add("token", token)
            }
        case .stateChanged(.disconnected(let error, _)): Output.printDiagnostic("Disconnected: \(error)")
        case .problem(let error): Output.printDiagnostic("\(error)")
        // `ListenApp` reports these, or programs do not need them.
        case .givenToApp, .languagesChanged, .deviceTokenChanged, .stateChanged: break
        }
    }

    private func print(_ event: String, _ fill: (inout JSONLine) -> Void) {
        var line = JSONLine(event: event)
        fill(&line)
        output.printRaw(line.text, "")
    }
}

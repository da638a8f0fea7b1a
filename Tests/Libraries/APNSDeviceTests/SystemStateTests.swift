import Notifications
import Testing

@testable import APNSDevice

struct SystemStateTests {
    private let app = "com.example.app"

    private func notification(_ aps: String, id: String = "1") -> ReceivedNotification {
        ReceivedNotification(id: id, topic: app, bundleID: app, payload: Array(#"{"aps":\#(aps)}"#.utf8))
    }

    private func state(
        _ life: AppState?,
        categories: [NotificationCategory] = [],
        sounds: Set<String>? = nil,
    ) -> SystemState {
        var state = SystemState(languages: ["en"])
        guard let life else { return state }
        state.install(app, Localizations(), sounds: sounds)
        guard life != .neverLaunched else { return state }
        _ = state.open(app, categories)
        if life == .background { state.enterBackground(app) }
        if life == .forceQuit { state.forceQuit(app) }
        return state
    }

    @Test(arguments: [#"{"alert":"x"}"#, #"{"content-available":1}"#, #"{"badge":1}"#])
    func `An app that is not installed, or was never opened, gets nothing`(_ aps: String) {
        #expect(state(nil).delivery(of: notification(aps)) == .drop(.notInstalled))
        #expect(state(.neverLaunched).delivery(of: notification(aps)) == .drop(.neverLaunched))
    }

    /// A notification for an app that the user has closed does not run the app. The system still displays it: "with
    /// the app not running" (Guide, 2.1).
    @Test(arguments: [#"{"alert":"x"}"#, #"{"badge":1}"#, #"{"sound":"x"}"#, #"{"alert":"x","content-available":1}"#])
    func `The alert for an app that the user closed is shown, and the app does not run`(_ aps: String) {
        guard case .show(_, isMutable: false, wakesApp: false) = state(.forceQuit).delivery(of: notification(aps))
        else {
            Issue.record("It is not shown so.")
            return
        }
    }

    @Test func `A silent notification does not reach an app that the user closed`() {
        let silent = notification(#"{"content-available":1}"#)
        #expect(state(.forceQuit).delivery(of: silent) == .drop(.forceQuit))
    }

    @Test func `The extension of an app that the user closed still runs, because it is a program of its own`() {
        let mutable = notification(#"{"alert":"x","mutable-content":1}"#)
        guard case .show(_, isMutable: true, wakesApp: false) = state(.forceQuit).delivery(of: mutable) else {
            Issue.record("The extension does not have its turn.")
            return
        }
    }

    @Test func `A notification that shows nothing and wakes nobody is dropped`() {
        #expect(state(.background).delivery(of: notification("{}")) == .drop(.nothingToShow))
    }

    @Test func `A closed app gets notifications again after it is opened`() {
        var state = state(.forceQuit)
        #expect(state.open(app, []) == true)
        guard case .giveToApp = state.delivery(of: notification(#"{"alert":"x"}"#)) else {
            Issue.record("The app gets nothing.")
            return
        }
    }

    @Test func `In the foreground the app itself gets the notification, even a silent one`() {
        for aps in [#"{"alert":"x"}"#, #"{"content-available":1}"#] {
            guard case .giveToApp = state(.foreground).delivery(of: notification(aps)) else {
                Issue.record("The app does not get \(aps).")
                return
            }
        }
    }

    @Test(arguments: [
        (#"{"alert":"x"}"#, false, false), (#"{"alert":"x","mutable-content":1}"#, true, false),
        (#"{"alert":"x","content-available":1}"#, false, true), (#"{"badge":1,"mutable-content":1}"#, false, false),
    ])
    func `In the background the system shows the notification`(_ aps: String, _ isMutable: Bool, _ wakesApp: Bool) {
        guard case .show(_, isMutable, wakesApp) = state(.background).delivery(of: notification(aps)) else {
            Issue.record("It is not shown so.")
            return
        }
    }

    @Test func `A silent notification wakes the app in the background`() {
        #expect(state(.background).delivery(of: notification(#"{"content-available":1}"#)) == .wake)
    }

    @Test func `Only one app is in the foreground`() {
        var state = state(.foreground)
        state.install("com.example.other", Localizations())
        _ = state.open("com.example.other", [])
        #expect(state.life(of: app) == .background)
        #expect(state.open(app, []) == true)
        #expect(state.open(app, []) == false)
        #expect(state.open("com.example.nothing", []) == nil)
    }

    @Test func `The user cannot close an app that was never opened`() {
        var state = state(.neverLaunched)
        state.forceQuit(app)
        #expect(state.life(of: app) == .neverLaunched)
    }

    @Test func `After a reset each app has to be opened again`() {
        var state = state(.background)
        state.reset()
        #expect(state.delivery(of: notification(#"{"alert":"x"}"#)) == .drop(.neverLaunched))
    }

    private let category = NotificationCategory(
        id: "MSG",
        actions: [
            NotificationAction(id: "reply", title: "Reply"),
            NotificationAction(id: "see", title: "See", opensApp: true),
        ])

    private func notice(
        _ aps: String, in state: inout SystemState, _ presentation: Presentation = .all
    ) -> SystemState.Noticed {
        let notification = notification(aps)
        let content = NotificationContent(
            PayloadReading(notification.payload), Localizations(), languages: [])
        return state.show(notification, content, presentation)
    }

    private func show(
        _ aps: String, in state: inout SystemState, _ presentation: Presentation = .all
    ) -> ShownNotification? { notice(aps, in: &state, presentation).shown }

    @Test func `A category shows the actions that the app registered at its launch`() {
        var state = state(.background, categories: [category])
        #expect(show(#"{"alert":"x","category":"MSG"}"#, in: &state)?.actions.map(\.id) == ["reply", "see"])
        #expect(show(#"{"alert":"x","category":"NONE"}"#, in: &state)?.actions == [])
    }

    @Test func `A badge alone changes the badge and shows nothing`() {
        var state = state(.background)
        #expect(show(#"{"badge":4}"#, in: &state) == nil)
        #expect(state.centre.badge(of: app) == 4 && state.centre.notifications.isEmpty)
        _ = show(#"{"badge":0}"#, in: &state, [.banner])
        #expect(state.centre.badge(of: app) == 4)
    }

    @Test(arguments: [
        (NotificationResponse.open, true), (.dismiss, false), (.action("reply"), false), (.action("see"), true),
    ])
    func `A response removes the notification, and opens the app or does not`(
        _ response: NotificationResponse, _ opens: Bool
    ) {
        var state = state(.background, categories: [category])
        _ = show(#"{"alert":"x","category":"MSG"}"#, in: &state)
        let result = state.respond(to: "1", response)
        #expect(result?.opensApp == opens)
        #expect(state.centre.notifications.isEmpty)
    }

    @Test func `An action that the category does not have does nothing`() {
        var state = state(.background, categories: [category])
        _ = show(#"{"alert":"x","category":"MSG"}"#, in: &state)
        #expect(state.respond(to: "1", .action("none")) == nil)
        #expect(state.respond(to: "2", .open) == nil)
        #expect(state.centre.notifications.count == 1)
    }

    @Test func `Removing an app also removes what it shows`() {
        var state = state(.background)
        _ = show(#"{"alert":"x"}"#, in: &state)
        #expect(state.remove(app) == true)
        #expect(state.centre.notifications.isEmpty && state.life(of: app) == nil)
        #expect(state.remove(app) == false)
    }

    // MARK: Pushes of other services

    private func push(_ service: PushService, _ payload: String = "{}", pushType: String? = nil) -> ReceivedNotification
    {
        let suffixes: [PushService: String] = [
            .voip: ".voip", .complication: ".complication", .fileProvider: ".pushkit.fileprovider",
            .location: ".location-query", .liveActivity: ".push-type.liveactivity", .pushToTalk: ".voip-ptt",
            .controls: ".push-type.controls", .widgets: ".push-type.widgets",
        ]
        return ReceivedNotification(
            id: "1", topic: app + (suffixes[service] ?? ""), bundleID: app,
            pushType: service == .mdm ? "mdm" : pushType, payload: Array(payload.utf8))
    }

    @Test(arguments: TopicKind.allCases) func `A service has the name of its push type`(_ kind: TopicKind) {
        #expect(PushService(kind)?.rawValue == kind.serviceName)
    }

    @Test(arguments: PushService.allCases, [AppState.background, .foreground])
    func `A push for another service of the app is given to that service`(_ service: PushService, _ life: AppState) {
        for payload in ["{}", #"{"aps":{"content-available":1}}"#] {
            #expect(state(life).delivery(of: push(service, payload)) == .giveToService(service, shows: nil))
        }
    }

    @Test(arguments: PushService.allCases)
    func `A push for a service is dropped if the user never opened the app`(_ service: PushService) {
        #expect(state(.neverLaunched).delivery(of: push(service)) == .drop(.neverLaunched))
    }

    @Test(arguments: PushService.allCases)
    func `If the user closed the app, only a call, a widget and a control get their pushes`(_ service: PushService) {
        let isGiven = [.voip, .widgets, .controls].contains(service)
        #expect(
            state(.forceQuit).delivery(of: push(service))
                == (isGiven ? .giveToService(service, shows: nil) : .drop(.forceQuit)))
    }

    @Test(arguments: [AppState.forceQuit, .neverLaunched], ["update", "end"])
    func `The system changes a Live Activity although the app does not run`(_ life: AppState, _ event: String) {
        let payload = #"{"aps":{"event":"\#(event)","timestamp":1,"content-state":{}}}"#
        #expect(state(life).delivery(of: push(.liveActivity, payload)) == .changeActivities(shows: nil))
    }

    @Test func `A call starts an app that the user closed, and no app that was never opened`() {
        var state = state(.forceQuit)
        state.launch(app)
        #expect(state.life(of: app) == .background)
        state.reset()
        state.launch(app)
        #expect(state.life(of: app) == .neverLaunched)
    }

    @Test func `The alert of a Live Activity is shown; the alert of a call is left to the app`() {
        let payload = #"{"aps":{"alert":"x","event":"update","timestamp":1,"content-state":{}}}"#
        guard
            case .giveToService(.liveActivity, let content?) = state(.background).delivery(
                of: push(.liveActivity, payload))
        else {
            Issue.record("It is not shown.")
            return
        }
        #expect(content.body == "x")
        #expect(state(.background).delivery(of: push(.voip, payload)) == .giveToService(.voip, shows: nil))
        guard case .changeActivities(_?) = state(.forceQuit).delivery(of: push(.liveActivity, payload)) else {
            Issue.record("It is not shown once the app was ended.")
            return
        }
    }

    /// Pushes for Live Activities with an alert, which no device carries out.
    private static let refusedPushes = [
        #"{"aps":{"alert":"x"}}"#, #"{"aps":{"alert":"x","event":"begin","content-state":{}}}"#,
        #"{"aps":{"alert":"x","event":"start","attributes-type":"M","attributes":{}}}"#,
        #"{"aps":{"alert":"x","event":"update"}}"#, #"{"aps":{"alert":"x","event":"update","content-state":{}}}"#,
        #"{"aps":{"alert":{},"event":"start","timestamp":1,"attributes-type":"M","attributes":{},"content-state":{}}}"#,
    ]

    @Test(arguments: refusedPushes)
    func `The alert of a push for a Live Activity is not shown if the push is refused`(_ payload: String) {
        let push = push(.liveActivity, payload)
        #expect(state(.background).delivery(of: push) == .giveToService(.liveActivity, shows: nil))
    }

    @Test func `The alert is not shown if the device token is not one for the event`() {
        let end = #"{"aps":{"alert":"x","event":"end","timestamp":1}}"#
        let start =
            #"{"aps":{"alert":"x","event":"start","timestamp":1,"attributes-type":"M","attributes":{},"content-state":{}}}"#
        var pushes = [push(.liveActivity, end), push(.liveActivity, start), push(.liveActivity, start)]
        pushes[0].startToken = true
        pushes[1].activity = "0b1e5b4a-9c0c-4d5e-8f00-0123456789ab"
        pushes[2].channel = "AAAA"
        for push in pushes {
            #expect(state(.background).delivery(of: push) == .giveToService(.liveActivity, shows: nil))
        }
    }

    @Test func `A device management notification without a push type is recognised by its payload`() {
        let notification = ReceivedNotification(
            id: "1", topic: app, bundleID: app, payload: Array(#"{"mdm":"magic"}"#.utf8))
        #expect(notification.service == .mdm)
    }

    @Test func `A bundle ID that ends like a service's topic is still the app's own topic`() {
        let notification = ReceivedNotification(
            id: "1", topic: "com.example.voip", bundleID: "com.example.voip", payload: Array("{}".utf8))
        #expect(notification.service == nil)
    }

    // MARK: Sounds and settings (Guide, Table 9-1)

    @Test(arguments: [
        ("ping.aiff", "ping.aiff"), ("none.aiff", "default"), ("default", "default"),
    ])
    func `A missing sound file is replaced by the default sound`(_ name: String, _ played: String) {
        var state = state(.background, sounds: ["ping.aiff"])
        #expect(notice(#"{"sound":"\#(name)"}"#, in: &state).sound?.name == played)
        let critical = notice(#"{"sound":{"critical":1,"name":"\#(name)","volume":0.5}}"#, in: &state).sound
        #expect(critical == NotificationContent.Sound(name: played, isCritical: true, volume: 0.5))
    }

    @Test func `If the app's sounds are not known, every name is accepted`() {
        var state = state(.background)
        #expect(notice(#"{"sound":"none.aiff"}"#, in: &state).sound?.name == "none.aiff")
    }

    @Test func `The user's settings decide how a notification is shown`() {
        let aps = #"{"alert":"x","badge":2,"sound":"default"}"#
        for (settings, alert, sound, badge) in [
            (AppSettings(), true, true, true), (AppSettings(alerts: .off), false, true, true),
            (AppSettings(sounds: false), true, false, true), (AppSettings(badges: false), true, true, false),
            (AppSettings(alerts: .off, sounds: false, badges: false), false, false, false),
        ] {
            var state = state(.background)
            state.change(settings, of: app)
            let noticed = notice(aps, in: &state)
            #expect((noticed.shown != nil) == alert && (noticed.sound != nil) == sound && (noticed.badge == 2) == badge)
            #expect(state.centre.badge(of: app) == (badge ? 2 : 0))
        }
    }

    @Test func `The user decides whether it is a banner or an alert`() {
        var state = state(.background)
        state.change(AppSettings(alerts: .alert), of: app)
        #expect(show(#"{"alert":"x"}"#, in: &state)?.style == .alert)
    }

    @Test func `Switching badges off removes them at once`() {
        var state = state(.background)
        _ = notice(#"{"badge":2}"#, in: &state)
        state.change(AppSettings(badges: false), of: app)
        #expect(state.centre.badge(of: app) == 0)
    }

    @Test func `The user's settings also limit what an app in the foreground wants to show`() {
        var state = state(.foreground)
        state.change(AppSettings(alerts: .off), of: app)
        #expect(notice(#"{"alert":"x"}"#, in: &state, .all).isNothing)
    }
}

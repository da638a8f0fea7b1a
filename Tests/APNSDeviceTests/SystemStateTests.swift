import Testing

@testable import APNSDevice

struct SystemStateTests {
    private let app = "com.example.app"

    private func notification(_ aps: String, id: String = "1") -> ReceivedNotification {
        ReceivedNotification(id: id, topic: app, bundleID: app, payload: Array(#"{"aps":\#(aps)}"#.utf8))
    }

    private func state(_ life: SystemState.Life?, categories: [NotificationCategory] = []) -> SystemState {
        var state = SystemState(languages: ["en"])
        guard let life else { return state }
        state.install(app, Localizations())
        guard life != .neverLaunched else { return state }
        _ = state.open(app, categories)
        if life == .background { state.enterBackground(app) }
        if life == .forceQuit { state.forceQuit(app) }
        return state
    }

    @Test(arguments: [#"{"alert":"x"}"#, #"{"content-available":1}"#, #"{"badge":1}"#])
    func `Nothing reaches an app that is not there, was never opened, or was ended by the user`(_ aps: String) {
        #expect(state(nil).delivery(of: notification(aps)) == .drop(.notInstalled))
        #expect(state(.neverLaunched).delivery(of: notification(aps)) == .drop(.neverLaunched))
        #expect(state(.forceQuit).delivery(of: notification(aps)) == .drop(.forceQuit))
    }

    @Test func `An app that was ended gets notifications again once it is opened`() {
        var state = state(.forceQuit)
        #expect(state.open(app, []) == true)
        guard case .giveToApp = state.delivery(of: notification(#"{"alert":"x"}"#)) else {
            Issue.record("The app gets nothing.")
            return
        }
    }

    @Test func `In the foreground the app gets it itself, a silent one too`() {
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
    func `In the background the system shows it`(_ aps: String, _ isMutable: Bool, _ wakesApp: Bool) {
        guard case .show(_, isMutable, wakesApp) = state(.background).delivery(of: notification(aps)) else {
            Issue.record("It is not shown so.")
            return
        }
    }

    @Test func `A silent one wakes the app in the background`() {
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

    @Test func `An app that was never opened cannot be ended by the user`() {
        var state = state(.neverLaunched)
        state.forceQuit(app)
        #expect(state.life(of: app) == .neverLaunched)
    }

    @Test func `After a reset each app has to be opened once`() {
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

    private func show(
        _ aps: String, in state: inout SystemState, _ presentation: Presentation = .all
    ) -> ShownNotification? {
        let notification = notification(aps)
        let content = NotificationContent(
            PayloadReading(notification.payload), Localizations(), languages: [])
        return state.show(notification, content, presentation)
    }

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
    func `A response takes it away, and opens the app or not`(_ response: NotificationResponse, _ opens: Bool) {
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

    @Test func `An app that is removed is gone with what it shows`() {
        var state = state(.background)
        _ = show(#"{"alert":"x"}"#, in: &state)
        #expect(state.remove(app) == true)
        #expect(state.centre.notifications.isEmpty && state.life(of: app) == nil)
        #expect(state.remove(app) == false)
    }
}

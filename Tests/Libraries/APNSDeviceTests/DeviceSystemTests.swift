import Testing

@testable import APNSDevice

/// The system between a device and its apps, with a clock that the test advances.
@Suite(.timeLimit(.minutes(1))) struct DeviceSystemTests {
    private static let bundleID = "com.example.app"

    private func notification(_ aps: String, id: String = "1") -> ReceivedNotification {
        ReceivedNotification(
            id: id, topic: Self.bundleID, bundleID: Self.bundleID, payload: Array(#"{"aps":\#(aps)}"#.utf8))
    }

    /// An app that answers as the test says.
    private final class TestApp: App {
        let calls = Observed<[String]>([])
        let isHeld = Observed(false)

        func received(_ notification: ReceivedNotification, _ content: NotificationContent) async -> Presentation {
            calls.update { $0.append("received \(content.body)") }
            return [.badge]
        }

        func woken(by notification: ReceivedNotification) async -> BackgroundResult {
            calls.update { $0.append("woken") }
            _ = try? await isHeld.wait { !$0 }
            calls.update { $0.append(Task.isCancelled ? "cancelled" : "done") }
            return .newData
        }

        func responded(to notification: ShownNotification, with response: NotificationResponse) async {
            calls.update { $0.append("\(response)") }
        }

        func modified(
            _ content: NotificationContent, of notification: ReceivedNotification,
        ) async -> NotificationContent {
            _ = try? await isHeld.wait { !$0 }
            var content = content
            content.body = content.body == "empty" ? "" : "changed"
            return content
        }
    }

    private struct Rig {
        let system: DeviceSystem
        let app = TestApp()
        let events = Observed<[DeviceSystem.Event]>([])
        let clock = ManualClock()

        init() async {
            let events = events
            system = DeviceSystem(clock: clock) { event in events.update { $0.append(event) } }
            await system.install(bundleID, app, wasLaunched: true)
        }
    }

    @Test func `In the foreground the app gets the notification and decides what is shown`() async {
        let rig = await Rig()
        await rig.system.open(Self.bundleID)
        let notification = notification(#"{"alert":"x","badge":2}"#)
        await rig.system.received(notification)
        #expect(rig.app.calls.value == ["received x"])
        #expect(rig.events.value == [.givenToApp(notification), .badge(2, bundleID: Self.bundleID)])
        #expect(await rig.system.centre.notifications.isEmpty)
    }

    @Test func `In the background the notification is shown, with its sound and badge`() async throws {
        let rig = await Rig()
        await rig.system.received(notification(#"{"alert":"x","badge":2,"sound":"ping"}"#))
        let shown = try #require(await rig.system.centre.notifications.first)
        #expect(
            rig.events.value == [
                .shown(shown), .badge(2, bundleID: Self.bundleID),
                .sound(NotificationContent.Sound(name: "ping"), bundleID: Self.bundleID),
            ])
    }

    @Test func `A passive notification makes no sound`() async {
        let rig = await Rig()
        await rig.system.received(notification(#"{"alert":"x","sound":"ping","interruption-level":"passive"}"#))
        #expect(rig.events.value.count == 1)
    }

    @Test func `A silent notification wakes the app, which has thirty seconds`() async throws {
        let rig = await Rig()
        rig.app.isHeld.update { $0 = true }
        let silent = notification(#"{"content-available":1}"#)
        // This returns at once: the acknowledgement does not wait until the app was woken.
        await rig.system.received(silent)
        try await rig.app.calls.wait { $0 == ["woken"] }
        try await rig.clock.advance(by: .seconds(29), sleepers: 1)
        #expect(rig.events.value.isEmpty)
        try await rig.clock.advance(by: .seconds(1), sleepers: 1)
        try await rig.events.wait { $0 == [.woken(silent, .timedOut)] }
        try await rig.app.calls.wait { $0 == ["woken", "cancelled"] }
    }

    @Test func `An app that finishes in time reports its result`() async throws {
        let rig = await Rig()
        let silent = notification(#"{"content-available":1}"#)
        await rig.system.received(silent)
        try await rig.events.wait { $0 == [.woken(silent, .newData)] }
    }

    @Test func `The extension changes what is shown`() async throws {
        let rig = await Rig()
        await rig.system.received(notification(#"{"alert":"x","mutable-content":1}"#))
        try await rig.events.wait { !$0.isEmpty }
        #expect(await rig.system.centre.notifications.first?.content.body == "changed")
    }

    @Test(arguments: ["empty"])
    func `An extension that removes the text has failed`(_ body: String) async throws {
        let rig = await Rig()
        await rig.system.received(notification(#"{"alert":"\#(body)","mutable-content":1}"#))
        try await rig.events.wait { !$0.isEmpty }
        #expect(await rig.system.centre.notifications.first?.content.body == body)
    }

    @Test func `An extension that takes too long is stopped, and the original notification is shown`() async throws {
        let rig = await Rig()
        rig.app.isHeld.update { $0 = true }
        await rig.system.received(notification(#"{"alert":"x","mutable-content":1}"#))
        try await rig.clock.advance(by: .seconds(30), sleepers: 1)
        try await rig.events.wait { !$0.isEmpty }
        #expect(await rig.system.centre.notifications.first?.content.body == "x")
    }

    @Test func `A response reaches the app`() async {
        let rig = await Rig()
        await rig.system.received(notification(#"{"alert":"x"}"#))
        #expect(await rig.system.respond(to: "1", with: .dismiss))
        #expect(await !rig.system.respond(to: "1", with: .dismiss))
        #expect(rig.app.calls.value == ["dismiss"])
    }

    @Test func `A notification that nobody gets is reported with the reason`() async {
        let rig = await Rig()
        await rig.system.forceQuit(Self.bundleID)
        let silent = notification(#"{"content-available":1}"#)
        await rig.system.received(silent)
        #expect(rig.events.value == [.dropped(silent, .forceQuit)])
    }

    @Test func `An alert for an app that the user closed is shown, and opens the app`() async throws {
        let rig = await Rig()
        await rig.system.forceQuit(Self.bundleID)
        await rig.system.received(notification(#"{"alert":"x","launch-image":"L","content-available":1}"#))
        let shown = try #require(await rig.system.centre.notifications.first)
        #expect(rig.events.value == [.shown(shown)] && rig.app.calls.value.isEmpty)
        #expect(await rig.system.respond(to: "1", with: .open))
        #expect(await rig.system.state(of: Self.bundleID) == .foreground)
    }

    @Test func `A notification that the user has switched off is reported`() async throws {
        let rig = await Rig()
        await rig.system.change(AppSettings(alerts: .off), of: Self.bundleID)
        let alert = notification(#"{"alert":"x"}"#)
        await rig.system.received(alert)
        #expect(rig.events.value == [.dropped(alert, .switchedOff)])
        // A notification that also wakes the app is not dropped.
        let waking = notification(#"{"alert":"x","content-available":1}"#)
        await rig.system.received(waking)
        try await rig.events.wait { $0 == [.dropped(alert, .switchedOff), .woken(waking, .newData)] }
    }

    // MARK: Pushes of other services

    /// An app that records which of its methods was called.
    private final class ServiceApp: App {
        let calls = Observed<[String]>([])
        private func called(_ name: String) { calls.update { $0.append(name) } }
        func receivedCall(_ push: ReceivedNotification) async { called("voip") }
        func receivedComplication(_ push: ReceivedNotification) async { called("complication") }
        func receivedFileChange(_ push: ReceivedNotification) async { called("fileprovider") }
        func receivedLocationQuery(_ push: ReceivedNotification) async { called("location") }
        func receivedActivity(_ push: ReceivedNotification) async { called("liveactivity") }
        func receivedTalk(_ push: ReceivedNotification) async { called("pushtotalk") }
        func receivedControlChange(_ push: ReceivedNotification) async { called("controls") }
        func receivedWidgetChange(_ push: ReceivedNotification) async { called("widgets") }
        func receivedManagement(_ push: ReceivedNotification) async { called("mdm") }
    }

    @Test(arguments: [
        ("voip", ".voip"), ("complication", ".complication"), ("fileprovider", ".pushkit.fileprovider"),
        ("location", ".location-query"), ("liveactivity", ".push-type.liveactivity"), ("pushtotalk", ".voip-ptt"),
        ("controls", ".push-type.controls"), ("widgets", ".push-type.widgets"), ("mdm", ""),
    ])
    func `Each service of an app has its own method`(_ type: String, _ suffix: String) async throws {
        let events = Observed<[DeviceSystem.Event]>([])
        let system = DeviceSystem { event in events.update { $0.append(event) } }
        let app = ServiceApp()
        await system.install(Self.bundleID, app, wasLaunched: true)
        let push = ReceivedNotification(
            id: "1", topic: Self.bundleID + suffix, bundleID: Self.bundleID, pushType: type,
            payload: Array(#"{"number":1}"#.utf8))
        await system.received(push)
        let service = try #require(PushService(rawValue: type))
        // Without an event, no Live Activity changes.
        let dropped: [DeviceSystem.Event] = service == .liveActivity ? [.dropped(push, .nothingToShow)] : []
        #expect(events.value == [.pushed(push, service)] + dropped)
        try await app.calls.wait { $0 == [type] }
    }

    @Test func `The alert of a Live Activity is shown too`() async throws {
        let rig = await Rig()
        let aps =
            #"{"event":"start","timestamp":1800000000,"alert":"x","attributes-type":"M","attributes":{},"content-state":{}}"#
        let push = ReceivedNotification(
            id: "1", topic: Self.bundleID + ".push-type.liveactivity", bundleID: Self.bundleID,
            payload: Array(#"{"aps":\#(aps)}"#.utf8))
        await rig.system.received(push)
        let shown = try #require(await rig.system.centre.notifications.first)
        let activity = try #require(await rig.system.activities.shown(of: Self.bundleID).first)
        #expect(rig.events.value == [.pushed(push, .liveActivity), .shown(shown), .activity(activity, .started)])
    }

    // MARK: Languages

    private final class LanguageApp: App {
        let languages = Observed<[[String]]>([])
        func userPrefers(languages: [String]) async { self.languages.update { $0.append(languages) } }
    }

    @Test func `A running app learns of a change of language, and later notifications are shown in it`() async throws {
        let events = Observed<[DeviceSystem.Event]>([])
        let system = DeviceSystem(languages: ["en"]) { event in events.update { $0.append(event) } }
        let (running, ended) = (LanguageApp(), LanguageApp())
        let texts = Localizations(["en": StringsTable(["HI": "Hello"]), "de": StringsTable(["HI": "Hallo"])])
        await system.install(Self.bundleID, running, localizations: texts, wasLaunched: true)
        await system.install("com.example.ended", ended, wasLaunched: true)
        await system.forceQuit("com.example.ended")
        await system.change(languages: ["de", "en"])
        await system.change(languages: ["de", "en"])
        #expect(running.languages.value == [["de", "en"]] && ended.languages.value.isEmpty)
        #expect(events.value == [.languagesChanged(["de", "en"])])
        await system.received(notification(#"{"alert":{"loc-key":"HI"}}"#))
        #expect(await system.centre.notifications.first?.content.body == "Hallo")
    }

    @Test func `At each launch the app learns the user's languages`() async throws {
        try await ScriptedCourier.run { _ in
            .answer(200, #"{"token":"01"}"#)
        } _: { courier in
            let system = DeviceSystem(languages: ["fr", "en"])
            let app = LanguageApp()
            await system.install(Self.bundleID, app)
            let device = try Device(courier.identity, at: courier.address, delegate: system)
            await system.use(device)
            await system.open(Self.bundleID)
            #expect(app.languages.value == [["fr", "en"]])
            await device.close()
        }
    }

    // MARK: Looking closely

    /// An app whose content extension draws the notification.
    private final class DrawingApp: App {
        let isHeld = Observed(false)
        func view(
            of notification: ShownNotification, after earlier: [ShownNotification]
        ) async -> NotificationView? {
            _ = try? await isHeld.wait { !$0 }
            guard notification.content.body != "plain" else { return nil }
            return NotificationView(lines: ([notification] + earlier).map { "* \($0.content.body)" })
        }
    }

    private func drawing(_ app: DrawingApp, _ clock: ManualClock = ManualClock()) async -> DeviceSystem {
        let system = DeviceSystem(clock: clock)
        await system.install(
            Self.bundleID, app, wasLaunched: true,
            categories: [NotificationCategory(id: "DRAWN", actions: [], hasContentExtension: true)])
        return system
    }

    @Test func `The content extension draws a notification together with the others of its thread`() async {
        let system = await drawing(DrawingApp())
        for (id, body, thread) in [("1", "a", "t"), ("2", "b", "u"), ("3", "c", "t")] {
            await system.received(
                notification(#"{"alert":"\#(body)","category":"DRAWN","thread-id":"\#(thread)"}"#, id: id))
        }
        let view = await system.expand("3")
        #expect(view?.lines == ["* c", "* a"] && view?.isOfExtension == true)
        #expect(await system.expand("4") == nil)
    }

    @Test(arguments: [#""category":"DRAWN""#, #""category":"OTHER""#])
    func `Without an extension's view, the system shows the whole notification`(_ category: String) async {
        let system = await drawing(DrawingApp())
        await system.received(
            notification(#"{"alert":{"title":"T","subtitle":"S","body":"plain"},\#(category)}"#))
        let view = await system.expand("1")
        #expect(view?.lines == ["T", "S", "plain"] && view?.isOfExtension == false)
    }

    @Test func `An extension has thirty seconds to draw`() async throws {
        let (app, clock) = (DrawingApp(), ManualClock())
        app.isHeld.update { $0 = true }
        let system = await drawing(app, clock)
        await system.received(notification(#"{"alert":"slow","category":"DRAWN"}"#))
        async let view = system.expand("1")
        try await clock.advance(by: .seconds(30), sleepers: 1)
        #expect(await view?.lines == ["slow"])
    }

    @Test func `When a notification opens the app, the app learns its launch image and window`() async throws {
        let rig = await Rig()
        await rig.system.received(notification(#"{"alert":{"body":"x","launch-image":"L"},"target-content-id":"W"}"#))
        let shown = try #require(await rig.system.centre.notifications.first)
        #expect(shown.content.launchImage == "L" && shown.content.targetContentID == "W")
        #expect(await rig.system.respond(to: "1", with: .open))
        #expect(rig.events.value == [.shown(shown), .opened(with: shown)])
    }

    @Test func `At each launch the app registers; a changed device token is reported`() async throws {
        let tokens = Observed(["01", "01", "02"])
        try await ScriptedCourier.run { _ in
            let token = tokens.value.first ?? ""
            tokens.update { $0 = Array($0.dropFirst()) }
            return .answer(200, #"{"token":"\#(token)"}"#)
        } _: { courier in
            let events = Observed<[DeviceSystem.Event]>([])
            let system = DeviceSystem { event in events.update { $0.append(event) } }
            let app = TokenApp()
            await system.install(Self.bundleID, app)
            let device = try Device(courier.identity, at: courier.address, delegate: system)
            await system.use(device)
            for _ in 0..<3 {
                await system.open(Self.bundleID)
                await system.forceQuit(Self.bundleID)
            }
            #expect(app.tokens.value == ["01", "01", "02"])
            #expect(events.value == [.deviceTokenChanged(bundleID: Self.bundleID, deviceToken: "02")])
            await device.close()
            await system.open(Self.bundleID)
            #expect(app.failures.value.map(\.code) == [.closed])
        }
    }

    @Test func `A removal of which the service could not be told can be repeated`() async throws {
        try await ScriptedCourier.run(act: { _ in .answer(503, #"{"reason":"ServiceUnavailable"}"#) }) { courier in
            let rig = await Rig()
            let device = try Device(courier.identity, at: courier.address, delegate: rig.system)
            await rig.system.use(device)
            for _ in 0..<2 {
                await #expect(throws: DeviceError.self) { try await rig.system.remove(Self.bundleID) }
            }
            await device.close()
        }
    }

    @Test func `A removal of which the service was told is not repeated`() async throws {
        try await ScriptedCourier.run(act: { _ in .answer(200, "{}") }) { courier in
            let rig = await Rig()
            let device = try Device(courier.identity, at: courier.address, delegate: rig.system)
            await rig.system.use(device)
            for _ in 0..<2 { try await rig.system.remove(Self.bundleID) }
            #expect(courier.record.value.requests.count == 1)
            await device.close()
        }
    }

    private final class TokenApp: App {
        let tokens = Observed<[String]>([])
        let failures = Observed<[DeviceError]>([])
        func registered(deviceToken: String) async { tokens.update { $0.append(deviceToken) } }
        func registrationFailed(_ error: DeviceError) async { failures.update { $0.append(error) } }
    }
}

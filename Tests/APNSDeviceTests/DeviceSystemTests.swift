import Testing

@testable import APNSDevice

/// The system between a device and its apps, with a clock that is moved by hand.
@Suite(.timeLimit(.minutes(1))) struct DeviceSystemTests {
    private static let bundleID = "com.example.app"

    private func notification(_ aps: String, id: String = "1") -> ReceivedNotification {
        ReceivedNotification(
            id: id, topic: Self.bundleID, bundleID: Self.bundleID, payload: Array(#"{"aps":\#(aps)}"#.utf8))
    }

    /// An app whose answers a test decides.
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

    @Test func `In the foreground the app has it and says what is shown`() async {
        let rig = await Rig()
        await rig.system.open(Self.bundleID)
        let notification = notification(#"{"alert":"x","badge":2}"#)
        await rig.system.received(notification)
        #expect(rig.app.calls.value == ["received x"])
        #expect(rig.events.value == [.givenToApp(notification), .badge(2, bundleID: Self.bundleID)])
        #expect(await rig.system.centre.notifications.isEmpty)
    }

    @Test func `In the background it is shown, with its sound and badge`() async throws {
        let rig = await Rig()
        await rig.system.received(notification(#"{"alert":"x","badge":2,"sound":"ping"}"#))
        let shown = try #require(await rig.system.centre.notifications.first)
        #expect(
            rig.events.value == [
                .shown(shown), .badge(2, bundleID: Self.bundleID),
                .sound(NotificationContent.Sound(name: "ping"), bundleID: Self.bundleID),
            ])
    }

    @Test func `A passive one makes no sound`() async {
        let rig = await Rig()
        await rig.system.received(notification(#"{"alert":"x","sound":"ping","interruption-level":"passive"}"#))
        #expect(rig.events.value.count == 1)
    }

    @Test func `A silent one wakes the app, which has thirty seconds`() async throws {
        let rig = await Rig()
        rig.app.isHeld.update { $0 = true }
        let silent = notification(#"{"content-available":1}"#)
        // It is taken at once: waking the app does not hold up the acknowledgement.
        await rig.system.received(silent)
        try await rig.app.calls.wait { $0 == ["woken"] }
        try await rig.clock.advance(by: .seconds(29), sleepers: 1)
        #expect(rig.events.value.isEmpty)
        try await rig.clock.advance(by: .seconds(1), sleepers: 1)
        try await rig.events.wait { $0 == [.woken(silent, .timedOut)] }
        try await rig.app.calls.wait { $0 == ["woken", "cancelled"] }
    }

    @Test func `An app that is done in time says what came of it`() async throws {
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
    func `An extension that takes the text away has failed`(_ body: String) async throws {
        let rig = await Rig()
        await rig.system.received(notification(#"{"alert":"\#(body)","mutable-content":1}"#))
        try await rig.events.wait { !$0.isEmpty }
        #expect(await rig.system.centre.notifications.first?.content.body == body)
    }

    @Test func `An extension that takes too long is given up, and what came is shown`() async throws {
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

    @Test func `What nobody gets is told`() async {
        let rig = await Rig()
        await rig.system.forceQuit(Self.bundleID)
        let notification = notification(#"{"alert":"x"}"#)
        await rig.system.received(notification)
        #expect(rig.events.value == [.dropped(notification)])
    }

    @Test func `At each launch the app registers; a device token that changed is told`() async throws {
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

    private final class TokenApp: App {
        let tokens = Observed<[String]>([])
        let failures = Observed<[DeviceError]>([])
        func registered(deviceToken: String) async { tokens.update { $0.append(deviceToken) } }
        func registrationFailed(_ error: DeviceError) async { failures.update { $0.append(error) } }
    }
}

import Foundation
import Testing

@testable import APNSDevice

/// Live Activities that the app itself starts.
@Suite(.timeLimit(.minutes(1))) struct LiveActivitySystemTests {
    private static let bundleID = "com.example.app"

    private struct EmptyApp: App {}

    /// A system at 0.7 seconds after a whole second, with the changes of its Live Activities.
    private static func make() async -> (DeviceSystem, Observed<[LiveActivity.Change]>) {
        let changes = Observed<[LiveActivity.Change]>([])
        let system = DeviceSystem(
            report: { event in
                if case .activity(_, let change) = event { changes.update { $0.append(change) } }
            }, now: { Date(timeIntervalSince1970: 1_800_000_000.7) })
        await system.install(bundleID, EmptyApp(), wasLaunched: true)
        return (system, changes)
    }

    private static func start(_ system: DeviceSystem, of bundleID: String = bundleID) async -> LiveActivity? {
        await system.startActivity(
            of: bundleID, attributesType: "Match", attributes: Array("{}".utf8), contentState: Array("{}".utf8),
            updates: .token)
    }

    @Test func `An update in the second in which the app started it is not outdated`() async throws {
        let (system, changes) = await Self.make()
        let activity = try #require(await Self.start(system))
        #expect(activity.isActive)
        // Providers send whole seconds, rounded down.
        let update = #"{"aps":{"event":"update","timestamp":1800000000,"content-state":{"score":1}}}"#
        await system.received(
            ReceivedNotification(
                id: "1", topic: Self.bundleID + ".push-type.liveactivity", bundleID: Self.bundleID,
                pushType: "liveactivity", activity: activity.id.uuidString, payload: Array(update.utf8)))
        #expect(changes.value == [.started, .updated])
    }

    private static func push(_ aps: String, activity: LiveActivity? = nil) -> ReceivedNotification {
        ReceivedNotification(
            id: "1", topic: bundleID + ".push-type.liveactivity", bundleID: bundleID, pushType: "liveactivity",
            activity: activity?.id.uuidString, payload: Array(#"{"aps":\#(aps)}"#.utf8))
    }

    @Test func `Updates and the end take effect although the user has closed the app`() async throws {
        let (system, changes) = await Self.make()
        let activity = try #require(await Self.start(system))
        await system.forceQuit(Self.bundleID)
        await system.received(
            Self.push(#"{"event":"update","timestamp":1800000000,"content-state":{"score":1}}"#, activity: activity))
        await system.received(Self.push(#"{"event":"end","timestamp":1800000001}"#, activity: activity))
        #expect(changes.value == [.started, .updated, .ended])
        #expect(await system.state(of: Self.bundleID) == .forceQuit)
    }

    @Test(arguments: [
        (
            #"{"event":"start","timestamp":1,"alert":"x","attributes-type":"M","attributes":{},"content-state":{}}"#,
            true
        ),
        (#"{"event":"start","timestamp":1,"alert":"x","attributes-type":"M","attributes":{}}"#, false),
        (#"{"event":"update","timestamp":1,"alert":"x","content-state":{}}"#, false),
        (#"{"event":"begin","alert":"x","attributes-type":"M","attributes":{},"content-state":{}}"#, false),
        (#"{"alert":"x"}"#, false),
    ])
    func `The alert of a push that changes no Live Activity is not shown`(_ aps: String, _ isShown: Bool) async {
        let (system, changes) = await Self.make()
        await system.received(Self.push(aps))
        #expect(await system.centre.notifications.count == (isShown ? 1 : 0))
        #expect(changes.value.count == (isShown ? 1 : 0))
    }

    @Test func `A call starts an app that the user has closed`() async {
        let (system, _) = await Self.make()
        await system.forceQuit(Self.bundleID)
        await system.received(
            ReceivedNotification(
                id: "1", topic: Self.bundleID + ".voip", bundleID: Self.bundleID, pushType: "voip",
                payload: Array("{}".utf8)))
        #expect(await system.state(of: Self.bundleID) == .background)
    }

    @Test func `An app that is not on the device starts none`() async {
        let (system, changes) = await Self.make()
        #expect(await Self.start(system, of: "com.example.none") == nil)
        #expect(changes.value == [])
    }

    @Test func `A reset removes them`() async throws {
        let (system, _) = await Self.make()
        _ = try #require(await Self.start(system))
        try await system.reset()
        #expect(await system.activities.count == 0)
        #expect(await system.activities.due == nil)
    }
}

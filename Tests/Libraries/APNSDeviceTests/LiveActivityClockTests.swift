import Foundation
import Testing

@testable import APNSDevice

/// Live Activities that change by themselves, with a clock that is moved by hand.
@Suite(.timeLimit(.minutes(1))) struct LiveActivityClockTests {
    private struct EmptyApp: App {}

    @Test func `It becomes outdated, ends and disappears by the clock`() async throws {
        let bundleID = "com.example.app"
        let (clock, time) = (ManualClock(), Observed(Date(timeIntervalSince1970: 1_800_000_000)))
        let changes = Observed<[LiveActivity.Change]>([])
        let system = DeviceSystem(
            clock: clock,
            report: { event in
                if case .activity(_, let change) = event { changes.update { $0.append(change) } }
            }, now: { time.value })
        await system.install(bundleID, EmptyApp(), wasLaunched: true)
        let push = #"""
            {"aps":{"event":"start","timestamp":1800000000,"alert":"x","attributes-type":"Match","attributes":{},
            "content-state":{"score":0},"stale-date":1800000060}}
            """#
        await system.received(
            ReceivedNotification(
                id: "1", topic: bundleID + ".push-type.liveactivity", bundleID: bundleID, pushType: "liveactivity",
                payload: Array(push.utf8)))
        let steps: [(TimeInterval, LiveActivity.Change)] = [
            (60, .stale), (LiveActivity.longestActive - 60, .ended), (LiveActivity.longestShownAfterEnd, .dismissed),
        ]
        for (seconds, change) in steps {
            time.update { $0 += seconds }
            // The system may not sleep yet, so that the first advance would come too early.
            while changes.value.last != change {
                try await clock.advance(by: .seconds(seconds), sleepers: 0)
                await Task.yield()
            }
        }
        #expect(changes.value == [.started, .stale, .ended, .dismissed])
        #expect(await system.activities.count == 0)
    }
}

import NIOCore
import Testing

@testable import DeviceAgent

/// When the agent gives memory back.
struct IdleReliefTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    @Test func `Memory is given back once when the agent was idle for the delay`() {
        let delay = AgentLimits.pageReleaseDelay
        var relief = IdleRelief()
        let (isFirst, first) = (relief.wasActive(at: start), relief.wait(at: start))
        #expect(isFirst && first == delay)
        // One wait is enough for all that happens meanwhile.
        let (isSecond, second) = (relief.wasActive(at: start + .seconds(2)), relief.wait(at: start + delay))
        #expect(!isSecond && second == .seconds(2))
        let (rest, isNext) = (relief.wait(at: start + delay + .seconds(2)), relief.wasActive(at: start + delay))
        #expect(rest == nil && isNext)
    }
}

import Foundation
import Testing

@testable import DeviceAgent

struct ClockJumpsTests {
    @Test func `A machine that was suspended is told from one whose clock was set`() {
        var jumps = ClockJumps(suspended: .seconds(100))
        #expect(jumps.clockChanged(suspended: .seconds(100)) == .clockSet)
        // The two clocks are not read at the same moment.
        #expect(jumps.clockChanged(suspended: .seconds(100) + .milliseconds(3)) == .clockSet)
        #expect(jumps.clockChanged(suspended: .seconds(100)) == .clockSet)
        #expect(jumps.clockChanged(suspended: .seconds(3700)) == .resumed(.seconds(3600)))
        // The clock is often set after that.
        #expect(jumps.clockChanged(suspended: .seconds(3700)) == .clockSet)
        #expect(jumps.clockChanged(suspended: .seconds(3701)) == .resumed(.seconds(1)))
    }
}

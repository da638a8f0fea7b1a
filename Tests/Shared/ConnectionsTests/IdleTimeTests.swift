import Connections
import NIOCore
import Testing

/// When a connection counts as idle.
struct IdleTimeTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    /// The answers of the checks in the given seconds.
    private static func checks(_ idle: inout IdleTime, _ seconds: ClosedRange<Int64>) -> [Bool] {
        seconds.map { idle.exceeds(.seconds(2), at: start + .seconds($0)) }
    }

    @Test func `A limit is not exceeded before the connection was idle for so long`() {
        var idle = IdleTime()
        var isIdle = Self.checks(&idle, 0...0)
        // Used at any time before the next check.
        idle.noteUse()
        isIdle += Self.checks(&idle, 1...4)
        #expect(isIdle == [false, false, false, false, true])
    }

    @Test func `A connection that is used within each limit is never idle`() {
        var idle = IdleTime()
        for second: Int64 in stride(from: 0, to: 20, by: 2) {
            let isIdle = Self.checks(&idle, second...second + 1)
            #expect(isIdle == [false, false])
            idle.noteUse()
        }
    }
}

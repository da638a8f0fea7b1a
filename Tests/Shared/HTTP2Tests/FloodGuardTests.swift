import HTTP2
import NIOCore
import Rates
import Testing

@Suite struct FloodGuardTests {
    private static func seconds(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(1_000 + seconds) }

    private static func limits(_ burst: Int, _ perSecond: Double) -> FloodLimits {
        var limits = FloodLimits()
        limits.resets = .init(burst: burst, perSecond: perSecond)
        limits.idleFrames = .init(burst: burst, perSecond: perSecond)
        return limits
    }

    @Test func `The burst is admitted and no more`() {
        var flood = FloodGuard(limits: Self.limits(5, 1))
        let admitted = (0..<7).map { _ in flood.admit(.resets, at: Self.seconds(0)) }
        #expect(admitted == [true, true, true, true, true, false, false])
    }

    @Test func `A second makes room for the rate`() {
        var flood = FloodGuard(limits: Self.limits(5, 2))
        for _ in 0..<5 { _ = flood.admit(.resets, at: Self.seconds(0)) }
        let admitted = (0..<3).map { _ in flood.admit(.resets, at: Self.seconds(1)) }
        #expect(admitted == [true, true, false])
    }

    @Test func `A long pause makes room for the burst only`() {
        var flood = FloodGuard(limits: Self.limits(3, 100))
        for _ in 0..<3 { _ = flood.admit(.resets, at: Self.seconds(0)) }
        let admitted = (0..<4).map { _ in flood.admit(.resets, at: Self.seconds(3_600)) }
        #expect(admitted == [true, true, true, false])
    }

    @Test func `Kinds are counted apart`() {
        var flood = FloodGuard(limits: Self.limits(1, 1))
        _ = flood.admit(.resets, at: Self.seconds(0))
        let isAdmitted = flood.admit(.idleFrames, at: Self.seconds(0))
        #expect(isAdmitted)
    }

    @Test func `A stream earns room for its idle frames`() {
        var flood = FloodGuard(limits: Self.limits(20, 1))
        for _ in 0..<20 { _ = flood.admit(.idleFrames, at: Self.seconds(0)) }
        flood.streamOpened()
        let admitted = (0..<11).map { _ in flood.admit(.idleFrames, at: Self.seconds(0)) }
        #expect(admitted.filter { $0 }.count == 10)
    }

    @Test func `Earnings do not exceed the burst`() {
        var flood = FloodGuard(limits: Self.limits(20, 1))
        for _ in 0..<100 { flood.streamOpened() }
        let admitted = (0..<30).map { _ in flood.admit(.idleFrames, at: Self.seconds(0)) }
        #expect(admitted.filter { $0 }.count == 20)
    }

    @Test func `A data frame earns room for its windows`() {
        var flood = FloodGuard(limits: Self.limits(4, 1))
        for _ in 0..<4 { _ = flood.admit(.idleFrames, at: Self.seconds(0)) }
        flood.dataSent()
        let admitted = (0..<5).map { _ in flood.admit(.idleFrames, at: Self.seconds(0)) }
        #expect(admitted.filter { $0 }.count == 4)
    }

    @Test func `Extreme rates do not overflow`() {
        var flood = FloodGuard(limits: Self.limits(.max, 0))
        let isAdmitted = flood.admit(.resets, at: .distantFuture)
        #expect(isAdmitted)
    }

    @Test(arguments: [
        (FloodGuard.Kind.resets, 1_000), (.settings, 50), (.pings, 200), (.idleFrames, 2_000),
    ])
    func `The defaults are what the documentation says`(_ kind: FloodGuard.Kind, _ burst: Int) {
        var flood = FloodGuard(limits: .init())
        var admitted = 0
        while flood.admit(kind, at: Self.seconds(0)) { admitted += 1 }
        #expect(admitted == burst)
    }
}

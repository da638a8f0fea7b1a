import Rates
import Testing

@testable import HTTP2Core

struct FloodGuardTests {
    private static func seconds(_ seconds: UInt64) -> UInt64 { (1_000 + seconds) * 1_000_000_000 }

    private static func guarded(_ burst: Int, _ perSecond: Double) -> FloodGuard {
        var limits = FloodLimits()
        limits.resets = .init(burst: burst, perSecond: perSecond)
        limits.idleFrames = .init(burst: burst, perSecond: perSecond)
        return FloodGuard(limits: limits)
    }

    /// How many of so many frames are admitted.
    private func admitted(
        _ count: Int, _ flood: inout FloodGuard, at time: UInt64,
        _ admit: (inout FloodGuard, UInt64) throws(Fault) -> Void
    ) -> Int {
        var admitted = 0
        for _ in 0..<count where (try? admit(&flood, time)) != nil { admitted += 1 }
        return admitted
    }

    private func resets(_ count: Int, _ flood: inout FloodGuard, at time: UInt64 = seconds(0)) -> Int {
        admitted(count, &flood, at: time) { flood, time throws(Fault) in try flood.countReset(at: time) }
    }

    private func idleFrames(_ count: Int, _ flood: inout FloodGuard, at time: UInt64 = seconds(0)) -> Int {
        admitted(count, &flood, at: time) { flood, time throws(Fault) in try flood.countIdleFrame(at: time) }
    }

    @Test func `The burst is admitted and no more`() {
        var flood = Self.guarded(5, 1)
        #expect(resets(7, &flood) == 5)
    }

    @Test func `A second makes room for the rate`() {
        var flood = Self.guarded(5, 2)
        #expect(resets(5, &flood) == 5)
        #expect(resets(3, &flood, at: Self.seconds(1)) == 2)
    }

    @Test func `A long pause makes room for the burst only`() {
        var flood = Self.guarded(3, 100)
        #expect(resets(3, &flood) == 3)
        #expect(resets(4, &flood, at: Self.seconds(3_600)) == 3)
    }

    @Test func `Kinds are counted apart`() {
        var flood = Self.guarded(1, 1)
        #expect(resets(1, &flood) == 1)
        #expect(idleFrames(1, &flood) == 1)
    }

    @Test func `A stream earns room for its idle frames`() {
        var flood = Self.guarded(20, 1)
        #expect(idleFrames(20, &flood) == 20)
        flood.streamOpened()
        #expect(idleFrames(11, &flood) == 10)
    }

    @Test func `Earnings do not exceed the burst`() {
        var flood = Self.guarded(20, 1)
        for _ in 0..<100 { flood.streamOpened() }
        #expect(idleFrames(30, &flood) == 20)
    }

    @Test func `A data frame earns room for its windows`() {
        var flood = Self.guarded(4, 1)
        #expect(idleFrames(4, &flood) == 4)
        flood.dataSent()
        #expect(idleFrames(5, &flood) == 4)
    }

    @Test func `Extreme rates do not overflow`() {
        var flood = Self.guarded(.max, 0)
        #expect(resets(1, &flood, at: .max) == 1)
    }

    @Test func `The defaults are what the documentation says`() {
        var flood = FloodGuard(limits: .init())
        #expect(resets(2_000, &flood) == 1_000)
        #expect(idleFrames(3_000, &flood) == 2_000)
        #expect(
            admitted(100, &flood, at: Self.seconds(0)) { flood, time throws(Fault) in try flood.countSettings(at: time)
            }
                == 50)
        #expect(
            admitted(300, &flood, at: Self.seconds(0)) { flood, time throws(Fault) in try flood.countPing(at: time) }
                == 200)
    }
}

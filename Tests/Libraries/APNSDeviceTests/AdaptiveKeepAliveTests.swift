import NIOCore
import Testing

@testable import APNSDevice

struct AdaptiveKeepAliveTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    /// Waits in silence until a PING is due, and answers it.
    private func answer(_ keepAlive: inout AdaptiveKeepAlive, _ now: inout NIODeadline) {
        now = now + keepAlive.interval
        #expect(keepAlive.check(at: now) == .ping(checkAgain: now + .seconds(20)))
        now = now + .milliseconds(50)
        keepAlive.heard(at: now)
    }

    /// Leaves a PING without an answer.
    private func lose(_ keepAlive: inout AdaptiveKeepAlive, _ now: inout NIODeadline) {
        now = now + keepAlive.interval
        _ = keepAlive.check(at: now)
        now = now + .seconds(20)
        #expect(keepAlive.check(at: now) == .dead)
        keepAlive.begin(at: now)
    }

    @Test func `Received data postpones the PING`() {
        var keepAlive = AdaptiveKeepAlive(now: start)
        keepAlive.heard(at: start + .seconds(50))
        #expect(keepAlive.check(at: start + .seconds(60)) == .wait(until: start + .seconds(110)))
    }

    @Test func `The interval grows up to the longest as long as PINGs are answered`() {
        var keepAlive = AdaptiveKeepAlive(now: start)
        var now = start
        var intervals: [TimeAmount] = []
        for _ in 0..<9 {
            intervals.append(keepAlive.interval)
            answer(&keepAlive, &now)
        }
        #expect(intervals.prefix(3) == [.seconds(60), .seconds(90), .seconds(135)])
        #expect(intervals.last == .minutes(15))
    }

    @Test func `If a PING is not answered in time, the connection is dead`() {
        var keepAlive = AdaptiveKeepAlive(now: start)
        let asked = start + .seconds(60)
        #expect(keepAlive.check(at: asked) == .ping(checkAgain: asked + .seconds(20)))
        #expect(keepAlive.check(at: asked + .seconds(19)) == .wait(until: asked + .seconds(20)))
        #expect(keepAlive.check(at: asked + .seconds(20)) == .dead)
    }

    @Test func `After a loss the last interval that worked is used, and a longer one is tried much later`() {
        var keepAlive = AdaptiveKeepAlive(now: start)
        var now = start
        answer(&keepAlive, &now)
        answer(&keepAlive, &now)
        #expect(keepAlive.interval == .seconds(135))
        lose(&keepAlive, &now)
        #expect(keepAlive.interval == .seconds(90))
        for _ in 0..<99 {
            answer(&keepAlive, &now)
            #expect(keepAlive.interval == .seconds(90))
        }
        answer(&keepAlive, &now)
        #expect(keepAlive.interval == .seconds(135))
    }

    @Test func `If the last interval that worked no longer works, shorter ones are tried`() {
        var keepAlive = AdaptiveKeepAlive(now: start)
        var now = start
        answer(&keepAlive, &now)
        lose(&keepAlive, &now)
        #expect(keepAlive.interval == .seconds(60))
        lose(&keepAlive, &now)
        #expect(keepAlive.interval == .seconds(40))
    }

    @Test func `The interval shrinks as long as no PING is answered, and not below the shortest`() {
        var keepAlive = AdaptiveKeepAlive(now: start)
        var now = start
        var intervals: [Int64] = []
        for _ in 0..<6 {
            intervals.append(keepAlive.interval.nanoseconds / 1_000_000_000)
            lose(&keepAlive, &now)
        }
        #expect(intervals == [60, 40, 26, 20, 20, 20])
        // One that is answered later is kept, and a longer one is tried much later.
        answer(&keepAlive, &now)
        #expect(keepAlive.interval == .seconds(20))
    }

    /// A router that forgets a silent connection after some time: a PING that comes later is not answered.
    @Test(arguments: [21, 30, 45, 59, 61, 100, 130, 300, 899] as [Int64])
    func `A router's time is learnt, and then few connections are lost`(_ seconds: Int64) {
        var keepAlive = AdaptiveKeepAlive(now: start)
        var now = start
        var lost = 0
        for _ in 0..<1_000 {
            if keepAlive.interval < .seconds(seconds) {
                answer(&keepAlive, &now)
            } else {
                lose(&keepAlive, &now)
                lost += 1
            }
        }
        // At most three until the time is known, and then each time that a longer interval is tried again.
        #expect((1...3 + 1_000 / AdaptiveKeepAlive.Limits().patience).contains(lost), "\(lost)")
    }

    @Test func `On another network the first interval is used again`() {
        var keepAlive = AdaptiveKeepAlive(now: start)
        var now = start
        for _ in 0..<5 { answer(&keepAlive, &now) }
        keepAlive.networkIsBack(at: now)
        #expect(keepAlive.interval == .seconds(60))
    }

    @Test func `After a change of the network an answer is expected at once, and does not lengthen the interval`() {
        var keepAlive = AdaptiveKeepAlive(now: start)
        keepAlive.networkIsBack(at: start)
        #expect(keepAlive.check(at: start) == .wait(until: start + .seconds(20)))
        keepAlive.heard(at: start + .seconds(1))
        #expect(keepAlive.interval == .seconds(60))
        #expect(keepAlive.check(at: start + .seconds(20)) == .wait(until: start + .seconds(61)))
        keepAlive.networkIsBack(at: start + .seconds(30))
        #expect(keepAlive.check(at: start + .seconds(50)) == .dead)
        keepAlive.begin(at: start + .seconds(50))
        #expect(keepAlive.interval == .seconds(60))
        #expect(keepAlive.check(at: start + .seconds(70)) == .wait(until: start + .seconds(110)))
    }

    @Test func `Further changes of the network give an answer that is missing no more time`() {
        var keepAlive = AdaptiveKeepAlive(now: start)
        for second in [0, 7, 14] { keepAlive.networkIsBack(at: start + .seconds(Int64(second))) }
        #expect(keepAlive.check(at: start + .seconds(20)) == .dead)
    }
}

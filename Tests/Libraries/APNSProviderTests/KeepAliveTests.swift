import NIOCore
import Testing

@testable import APNSProvider

/// When a connection is checked, and when it takes no requests.
struct KeepAliveTests {
    private static let now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private let times = KeepAlive.Times()
    private var keepAlive = KeepAlive(KeepAlive.Times(), at: now)

    @Test mutating func `An idle connection is pinged every few minutes`() {
        let due = Self.now + times.idle
        #expect(times.idle <= .minutes(4))
        #expect(keepAlive.tick(inFlight: 0, at: due - .nanoseconds(1)) == .wait(until: due))
        #expect(keepAlive.tick(inFlight: 0, at: due) == .ping)
        #expect(keepAlive.replaceFrom == due + times.patience)
    }

    @Test mutating func `The first request that is late makes the connection suspect at once`() {
        // The connection was silent before the request, which says nothing.
        let sent = Self.now + .seconds(9)
        keepAlive.began(at: sent)
        let due = sent + times.waiting
        #expect(keepAlive.tick(inFlight: 1, at: sent) == .wait(until: due))
        #expect(keepAlive.tick(inFlight: 1, at: due) == .ping)
        #expect(keepAlive.replaceFrom == due)
    }

    @Test mutating func `Another answer shows that the connection works`() {
        keepAlive.began(at: Self.now)
        let heard = Self.now + times.waiting
        #expect(keepAlive.heard(at: heard) == false)
        #expect(keepAlive.tick(inFlight: 1, at: heard) == .wait(until: heard + times.waiting))
        keepAlive.ended()
        #expect(keepAlive.tick(inFlight: 0, at: heard) == .wait(until: heard + times.idle))
    }

    @Test mutating func `An idle connection is checked before it is used again`() {
        let early = Self.now + times.unchecked - .nanoseconds(1)
        #expect(keepAlive.check(inFlight: 0, at: early) == false)
        let late = Self.now + times.unchecked
        #expect(keepAlive.check(inFlight: 1, at: late) == false)
        #expect(keepAlive.check(inFlight: 0, at: late) == true)
        // Once is enough.
        #expect(keepAlive.check(inFlight: 0, at: late) == false)
        #expect(keepAlive.replaceFrom == late + times.patience)
        #expect(keepAlive.heard(at: late + .milliseconds(1)) == true)
        #expect(keepAlive.replaceFrom == nil)
    }

    @Test mutating func `Without an answer to the ping it is closed`() {
        let pinged = Self.now + times.idle
        _ = keepAlive.tick(inFlight: 0, at: pinged)
        let due = pinged + times.answer
        #expect(keepAlive.tick(inFlight: 0, at: due - .nanoseconds(1)) == .wait(until: due))
        #expect(keepAlive.tick(inFlight: 0, at: due) == .close)
    }

    @Test mutating func `Anything that comes counts as an answer`() {
        let pinged = Self.now + times.idle
        _ = keepAlive.tick(inFlight: 0, at: pinged)
        #expect(keepAlive.heard(at: pinged + .seconds(1)) == true)
        let due = pinged + .seconds(1) + times.idle
        #expect(keepAlive.tick(inFlight: 0, at: pinged + .seconds(20)) == .wait(until: due))
    }
}

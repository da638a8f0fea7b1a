import NIOCore

/// Decides when a connection is checked with PING (Guide, 2.3.3.1), and whether it is suspect: whether it takes no new
/// requests until something arrives on it. A value; the time is an argument.
///
/// A connection may die without a word, for example because a router has forgotten it. What was sent on it by then is lost,
/// but nothing that comes after the first request without an answer should be.
struct KeepAlive: Sendable, Hashable {
    struct Times: Sendable, Hashable {
        /// The silence before a PING if no request is under way. Routers that translate addresses forget a silent
        /// connection after four minutes and more, and many firewalls do too.
        var idle = TimeAmount.minutes(2)
        /// The silence after which an idle connection is checked before it takes a request. Such a request waits for one
        /// round trip, which costs little compared with a request that is lost.
        var unchecked = TimeAmount.seconds(10)
        /// The silence before a PING if a request is under way. It is well above the time that an answer takes. If the
        /// service is only slow, it answers the PING.
        var waiting = TimeAmount.seconds(1)
        /// How long requests wait for the answer to a check of an idle connection, before another connection is opened.
        var patience = TimeAmount.seconds(1)
        /// The time to wait for the answer to a PING before the connection is closed. Requests that are under way on it may
        /// still be answered, and no others wait for them.
        var answer = TimeAmount.seconds(10)
    }

    enum Action: Hashable {
        /// Call again at this time.
        case wait(until: NIODeadline)
        /// Send PING. The connection is suspect from now on.
        case ping
        /// The other side did not answer, so close the connection.
        case close
    }

    private let times: Times
    private var heard: NIODeadline
    private var pinged: NIODeadline?
    /// Since when requests are under way without a pause; nil if none is.
    private var busy: NIODeadline?
    /// While the connection is suspect: the time from which another one may be opened in its place; nil if it is not.
    private(set) var replaceFrom: NIODeadline?

    init(_ times: Times, at now: NIODeadline) {
        self.times = times
        heard = now
    }

    /// Records that bytes have arrived.
    /// - Returns: whether the connection was suspect until now.
    @discardableResult
    mutating func heard(at now: NIODeadline) -> Bool {
        heard = now
        pinged = nil
        defer { replaceFrom = nil }
        return replaceFrom != nil
    }

    /// Records that a request was sent while none was under way.
    mutating func began(at now: NIODeadline) { busy = now }

    /// Records that no request is under way any more.
    mutating func ended() { busy = nil }

    /// Decides whether an idle connection has to be checked before it takes a request.
    /// - Parameter inFlight: the number of requests under way.
    /// - Returns: whether to send PING. The connection is suspect from now on.
    mutating func check(inFlight: Int, at now: NIODeadline) -> Bool {
        guard pinged == nil, inFlight == 0, now - heard >= times.unchecked else { return false }
        suspect(at: now, replaceFrom: now + times.patience)
        return true
    }

    /// Decides what to do now.
    /// - Parameter inFlight: the number of requests under way.
    mutating func tick(inFlight: Int, at now: NIODeadline) -> Action {
        if let pinged {
            let due = pinged + times.answer
            return now < due ? .wait(until: due) : .close
        }
        // The silence before a request says nothing about how long its answer takes.
        let due = inFlight > 0 ? max(heard, busy ?? heard) + times.waiting : heard + times.idle
        guard now >= due else { return .wait(until: due) }
        suspect(at: now, replaceFrom: inFlight > 0 ? now : now + times.patience)
        return .ping
    }

    private mutating func suspect(at now: NIODeadline, replaceFrom: NIODeadline) {
        pinged = now
        self.replaceFrom = replaceFrom
    }
}

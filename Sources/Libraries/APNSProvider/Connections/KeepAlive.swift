import NIOCore

/// Checks a silent connection with PING (Guide, 2.3.3.1). A value; the time is an argument.
struct KeepAlive: Sendable, Hashable {
    struct Times: Sendable, Hashable {
        /// The silence before a PING if no request is under way: an hour, as Apple recommends for connections that
        /// are kept open.
        var idle = TimeAmount.hours(1)
        /// The silence before a PING if a request is under way. It is well above the time that an answer takes, and
        /// well below the deadlines that callers set.
        var waiting = TimeAmount.seconds(15)
        /// The time to wait for the answer to a PING.
        var answer = TimeAmount.seconds(10)
    }

    enum Action: Hashable {
        /// Call again at this time.
        case wait(until: NIODeadline)
        case ping
        /// The other side did not answer, so close the connection.
        case close
    }

    private let times: Times
    private var heard: NIODeadline
    private var pinged: NIODeadline?

    init(_ times: Times, at now: NIODeadline) {
        self.times = times
        heard = now
    }

    /// Records that bytes have arrived.
    mutating func heard(at now: NIODeadline) {
        heard = now
        pinged = nil
    }

    /// Decides what to do now.
    /// - Parameter inFlight: the number of requests under way.
    mutating func tick(inFlight: Int, at now: NIODeadline) -> Action {
        if let pinged {
            let due = pinged + times.answer
            return now < due ? .wait(until: due) : .close
        }
        let due = heard + (inFlight > 0 ? times.waiting : times.idle)
        guard now >= due else { return .wait(until: due) }
        pinged = now
        return .ping
    }
}

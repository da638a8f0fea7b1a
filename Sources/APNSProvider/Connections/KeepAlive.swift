import NIOCore

/// Asks a quiet connection with PING whether it is still there (Guide, 2.3.3.1). A value; the time is an argument.
struct KeepAlive: Sendable, Hashable {
    struct Times: Sendable, Hashable {
        /// Nothing is under way: an hour, as Apple recommends for connections that are kept for later.
        var idle = TimeAmount.hours(1)
        /// Something is under way, and nothing has come for so long. Well above the time an answer takes, well below
        /// the deadlines that callers set.
        var waiting = TimeAmount.seconds(15)
        /// How long the answer to a PING may take.
        var answer = TimeAmount.seconds(10)
    }

    enum Action: Hashable {
        /// Nothing is due before then.
        case wait(until: NIODeadline)
        case ping
        /// The other side is gone.
        case close
    }

    private let times: Times
    private var heard: NIODeadline
    private var pinged: NIODeadline?

    init(_ times: Times, at now: NIODeadline) {
        self.times = times
        heard = now
    }

    /// Something has come.
    mutating func heard(at now: NIODeadline) {
        heard = now
        pinged = nil
    }

    /// - Parameter inFlight: how many requests are under way.
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

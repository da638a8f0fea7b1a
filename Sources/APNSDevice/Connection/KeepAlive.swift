import NIOCore

/// When to ask whether a silent connection still lives.
///
/// Routers forget a silent connection after a time that nobody tells, and a device that asks often uses power. So the
/// interval begins short and grows while PINGs are answered; when one is not, the last interval that worked is kept,
/// and a longer one is tried again only much later.
struct KeepAlive: Sendable, Hashable {
    /// The bounds of the interval, each with the reason for its value.
    struct Limits: Sendable, Hashable {
        /// The least that a router has to remember is minutes (RFC 5382, REQ-5, asks for two hours; many forget after
        /// two to five minutes): no one forgets in this time.
        var shortest = TimeAmount.seconds(60)
        /// How long a device may be out of reach without knowing it.
        var longest = TimeAmount.minutes(15)
        /// How long the answer may take: the worst mobile networks take some seconds.
        var answer = TimeAmount.seconds(20)
        /// How many answered PINGs at the interval that works before a longer one is tried again: half a day or so.
        var patience = 100
    }

    /// What is to be done now.
    enum Action: Hashable {
        /// Look again at this time.
        case wait(until: NIODeadline)
        /// Send a PING, and look again at this time.
        case ping(lookAgain: NIODeadline)
        /// The connection is dead.
        case dead
    }

    private let limits: Limits
    /// How much silence is let pass.
    private(set) var interval: TimeAmount
    /// The greatest silence that was survived.
    private var proven: TimeAmount
    /// The least silence that was not.
    private var tooLong: TimeAmount?
    private var answersAtProven = 0
    private var lastHeard: NIODeadline
    private var asked: NIODeadline?

    init(limits: Limits = Limits(), now: NIODeadline) {
        self.limits = limits
        interval = limits.shortest
        proven = limits.shortest
        lastHeard = now
    }

    /// A new connection begins; what was learnt about the network stays.
    mutating func begin(at now: NIODeadline) {
        lastHeard = now
        asked = nil
    }

    /// Another network: nothing is known of it.
    mutating func networkIsBack(at now: NIODeadline) { self = KeepAlive(limits: limits, now: now) }

    /// Something came from the courier.
    mutating func heard(at now: NIODeadline) {
        lastHeard = now
        guard asked != nil else { return }
        asked = nil
        grow()
    }

    /// Says what to do. A silence shorter than the interval proves nothing and costs nothing.
    mutating func look(at now: NIODeadline) -> Action {
        if let asked {
            guard now - asked >= limits.answer else { return .wait(until: asked + limits.answer) }
            shrink()
            return .dead
        }
        guard now - lastHeard >= interval else { return .wait(until: lastHeard + interval) }
        asked = now
        return .ping(lookAgain: now + limits.answer)
    }

    private mutating func grow() {
        proven = max(proven, interval)
        var longer = TimeAmount.nanoseconds(interval.nanoseconds / 2 * 3)
        if let tooLong, longer >= tooLong {
            answersAtProven += 1
            guard answersAtProven >= limits.patience else { return }
            self.tooLong = nil
            answersAtProven = 0
            longer = max(longer, interval)
        }
        interval = min(longer, limits.longest)
    }

    private mutating func shrink() {
        asked = nil
        if interval > limits.shortest { tooLong = interval }
        // Where not even what was proven works, the proof was of another route.
        if interval <= proven { proven = limits.shortest }
        interval = proven
        answersAtProven = 0
    }
}

import NIOCore

/// Decides when to check a silent connection with PING.
///
/// Routers forget a silent connection after an unknown time, and frequent PINGs use power. So the interval begins
/// short and grows while PINGs are answered. If one is not answered, the last interval that worked is used again,
/// and a longer one is tried only much later. If none has worked yet, a shorter one is tried.
struct AdaptiveKeepAlive: Sendable, Hashable {
    /// The limits of the interval, each with the reason for its value.
    struct Limits: Sendable, Hashable {
        /// The first interval. RFC 5382 (REQ-5) requires routers to remember a connection for two hours, but many
        /// forget it after two to five minutes. Few forget it in this time.
        var first = TimeAmount.seconds(60)
        /// The shortest interval, for routers that forget a connection within a minute. A shorter one would let the radio
        /// of a phone hardly rest (docs/device-protocol.md).
        var shortest = TimeAmount.seconds(20)
        /// The longest time that a device may be unreachable without noticing.
        var longest = TimeAmount.minutes(15)
        /// The time for the answer to a PING. The worst mobile networks take some seconds.
        var answer = TimeAmount.seconds(20)
        /// The number of PINGs that are answered at the interval that works before a longer one is tried again:
        /// about half a day.
        var patience = 100
    }

    /// What to do now.
    enum Action: Hashable {
        /// Check again at this time.
        case wait(until: NIODeadline)
        /// Send a PING, and check again at this time.
        case ping(checkAgain: NIODeadline)
        /// The connection is dead.
        case dead
    }

    private let limits: Limits
    /// The silence after which a PING is sent.
    private(set) var interval: TimeAmount
    /// The longest silence that the connection survived; nil if none is known.
    private var proven: TimeAmount?
    /// The shortest silence that it did not survive.
    private var tooLong: TimeAmount?
    private var answersAtProven = 0
    private var lastHeard: NIODeadline
    /// When a PING was sent that has no answer yet; nil if there is none.
    private var pingTime: NIODeadline?
    /// Whether the PING was sent before the connection was silent for so long. Its answer says nothing about the interval.
    private var isEarly = false

    init(limits: Limits = Limits(), now: NIODeadline) {
        self.limits = limits
        interval = limits.first
        lastHeard = now
    }

    /// Begins a new connection. What was learnt about the network is kept.
    mutating func begin(at now: NIODeadline) {
        lastHeard = now
        pingTime = nil
        isEarly = false
    }

    /// Starts again for another network, about which nothing is known. If there is a connection, a PING is sent on it now: it
    /// may have died without any sign.
    mutating func networkIsBack(at now: NIODeadline) {
        // If such a PING is not answered yet, its time goes on: addresses may be added again and again.
        let open = isEarly ? pingTime : nil
        self = AdaptiveKeepAlive(limits: limits, now: now)
        pingTime = open ?? now
        isEarly = true
    }

    /// Records that bytes came from the courier.
    mutating func heard(at now: NIODeadline) {
        lastHeard = now
        guard pingTime != nil else { return }
        pingTime = nil
        if isEarly { isEarly = false } else { grow() }
    }

    /// Returns what to do. A silence shorter than the interval proves nothing, so no PING is sent.
    mutating func check(at now: NIODeadline) -> Action {
        if let pingTime {
            guard now - pingTime >= limits.answer else { return .wait(until: pingTime + limits.answer) }
            if !isEarly { shrink() }
            return .dead
        }
        guard now - lastHeard >= interval else { return .wait(until: lastHeard + interval) }
        pingTime = now
        return .ping(checkAgain: now + limits.answer)
    }

    private mutating func grow() {
        proven = max(proven ?? interval, interval)
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
        pingTime = nil
        if interval > limits.shortest { tooLong = interval }
        // If not even the proven interval works, it was proven on another route.
        if let known = proven, interval <= known { proven = nil }
        // Each step down is as long as the step up that led here.
        interval = proven ?? max(limits.shortest, .nanoseconds(interval.nanoseconds / 3 * 2))
        answersAtProven = 0
    }
}

import NIOCore

/// When to connect again: after a delay that doubles each time, and that chance shortens, so that a service that is
/// down is not beleaguered and a fleet does not come back in one moment.
struct Reconnection: Sendable, Hashable {
    /// The bounds of the delay, each with the reason for its value.
    struct Limits: Sendable, Hashable {
        /// A service that restarts needs about as long.
        var shortest = TimeAmount.milliseconds(500)
        /// A person who waits for a notification waits no longer, and 10,000 devices make 300 connects a second.
        var longest = TimeAmount.seconds(30)
        /// A connection that lived for as long was good: the next one is tried soon.
        var longLife = TimeAmount.seconds(5)
    }

    private let limits: Limits
    private var delay: TimeAmount
    private var opened: NIODeadline?

    init(limits: Limits = Limits()) {
        self.limits = limits
        delay = limits.shortest
    }

    /// The connection works: the courier has answered on it.
    mutating func open(at now: NIODeadline) { opened = now }

    /// The connection has ended, or could not be made.
    /// - Parameter random: from 0 up to 1.
    /// - Returns: How long to wait: half of the delay at least.
    mutating func ended(at now: NIODeadline, random: Double) -> TimeAmount {
        if let opened, now - opened >= limits.longLife { delay = limits.shortest }
        opened = nil
        let whole = Double(delay.nanoseconds)
        delay = min(delay * 2, limits.longest)
        return .nanoseconds(Int64(whole / 2 + whole / 2 * min(max(random, 0), 1)))
    }

    /// The network came back, or is another one: what was learnt of the old one does not count.
    mutating func networkIsBack() { delay = limits.shortest }
}

import Connections
import NIOCore

/// When to connect again: after a growing delay, so that a service that is down is not beleaguered and a fleet does not come
/// back in one moment. A connection that lived for long begins anew.
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
    /// In a row.
    private var failures = 0
    private var opened: NIODeadline?

    init(limits: Limits = Limits()) { self.limits = limits }

    /// The connection works: the courier has answered on it.
    mutating func open(at now: NIODeadline) { opened = now }

    /// The connection has ended, or could not be made.
    /// - Parameter random: from 0 up to 1.
    /// - Returns: How long to wait.
    mutating func ended(at now: NIODeadline, random: Double) -> TimeAmount {
        if let opened, now - opened >= limits.longLife { failures = 0 }
        opened = nil
        failures += 1
        return GrowingDelay(first: limits.shortest, longest: limits.longest)
            .delay(afterFailures: failures, random: random)
    }

    /// The network came back, or is another one: what was learnt of the old one does not count.
    mutating func networkIsBack() { failures = 0 }
}

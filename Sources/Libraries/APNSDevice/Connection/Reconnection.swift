import Connections
import NIOCore

/// Decides when to connect again: after growing delays, so that a service that is down is not overloaded and the
/// devices of a fleet do not come back at the same moment. After a connection that lasted, the delays start again
/// from the shortest.
struct Reconnection: Sendable, Hashable {
    /// The limits of the delay, each with the reason for its value.
    struct Limits: Sendable, Hashable {
        /// The first delay. A service needs about this time to restart.
        var shortest = TimeAmount.milliseconds(500)
        /// The longest delay. A person who waits for a notification does not wait longer, and 10,000 devices make
        /// 300 connections a second.
        var longest = TimeAmount.seconds(30)
        /// A connection that lasted this long was good, so the next attempt follows soon.
        var longLife = TimeAmount.seconds(5)
    }

    private let limits: Limits
    /// The number of failures in a row.
    private var failures = 0
    private var opened: NIODeadline?

    init(limits: Limits = Limits()) { self.limits = limits }

    /// Records that the connection works, because the courier has answered on it.
    mutating func open(at now: NIODeadline) { opened = now }

    /// Records that the connection has ended or could not be made.
    /// - Parameter random: from 0 up to 1.
    /// - Returns: The delay before the next attempt.
    mutating func ended(at now: NIODeadline, random: Double) -> TimeAmount {
        if let opened, now - opened >= limits.longLife { failures = 0 }
        opened = nil
        failures += 1
        return GrowingDelay(first: limits.shortest, longest: limits.longest)
            .delay(afterFailures: failures, random: random)
    }

    /// Forgets the failures, because the network is back or has changed.
    mutating func networkIsBack() { failures = 0 }
}

package import Notifications
import Rates

/// What a grant has sent lately, against its rate and its daily number. A value that decides.
///
/// In a cluster each node has one for each grant. What other nodes have sent comes from the store, up to a second later:
/// it is charged then, so that all nodes together send no more than the rate over time.
package struct GrantUse: Sendable {
    private var bucket = RateBucket()
    /// The day, counted from 1970 (UTC).
    package private(set) var day: UInt64
    /// How many were sent on this day, by all nodes, as far as this node knows.
    package private(set) var sent: UInt64
    /// How many of them this node has not written to the store.
    package private(set) var unwritten: UInt64 = 0

    /// - Parameter sent: how many were sent on this day before.
    package init(day: UInt64, sent: UInt64 = 0) {
        self.day = day
        self.sent = sent
    }

    package static func day(of moment: Timestamp) -> UInt64 { moment.milliseconds / millisecondsPerDay }

    private static let millisecondsPerDay: UInt64 = 86_400_000

    /// Why a grant may not send now.
    package struct Refusal: Sendable, Hashable {
        package let rejection: Rejection
        /// After how many seconds it may send again.
        package let retryAfter: Int
    }

    /// Counts a notification, or says why it may not be sent. One that may not be sent is not counted.
    package mutating func spend(_ limits: GrantLimits, at now: Timestamp) -> Refusal? {
        turn(to: now)
        if let daily = limits.daily, sent >= UInt64(max(0, daily)) {  // fits: not negative
            let left = Self.millisecondsPerDay - now.milliseconds % Self.millisecondsPerDay
            return Refusal(
                rejection: Rejection(
                    .tooManyRequests, detail: "The grant has sent its daily number for today: daily is \(daily)."),
                retryAfter: Int(clamping: (left + 999) / 1000))
        }
        let rate = limits.rateOfSending
        guard bucket.admits(rate, at: now.nanoseconds) else {
            return Refusal(
                rejection: Rejection(
                    .tooManyRequests,
                    detail: "The grant sends faster than its rate: \(limits.rate ?? 0) a second, and at most "
                        + "\(rate.burst) at once."),
                retryAfter: RetryAfter.seconds(until: bucket.opens(rate), from: now.nanoseconds))
        }
        sent += 1
        unwritten += 1
        return nil
    }

    /// Begins a new day if it is one. What was not written of the day before is dropped: it no longer limits anything.
    private mutating func turn(to now: Timestamp) {
        let today = Self.day(of: now)
        guard today > day else { return }
        (day, sent, unwritten) = (today, 0, 0)
    }

    /// The store has counted a part of this day's notifications.
    /// - Parameters:
    ///   - written: how many of this node's.
    ///   - total: how many of all nodes, with these.
    package mutating func wrote(
        _ written: UInt64,
        total: UInt64,
        on day: UInt64,
        _ limits: GrantLimits?,
        at now: Timestamp,
    ) {
        guard day == self.day else { return }
        unwritten -= min(unwritten, written)
        let known = sent - min(sent, unwritten)
        guard total > known else { return }
        if let limits { bucket.charge(limits.rateOfSending, events: total - known, at: now.nanoseconds) }
        sent = total + unwritten
    }
}

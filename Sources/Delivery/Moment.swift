package import Notifications

/// One look at the clocks.
package struct Moment: Sendable, Hashable {
    /// The time of day, by which notifications expire. Somebody may set that clock.
    package var time: Timestamp
    /// The time since some start, by which deadlines and rates are counted. Nobody sets that one.
    package var uptime: Uptime

    package init(time: Timestamp, uptime: Uptime) {
        self.time = time
        self.uptime = uptime
    }
}

/// A reading of a clock that only goes forward, at an even pace.
package struct Uptime: Sendable, Hashable, Comparable {
    package var nanoseconds: UInt64

    package init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// The reading `duration` later; the last one there is where the sum does not fit.
    package func advanced(by duration: Duration) -> Uptime {
        let sum = Int128(nanoseconds) + duration.attoseconds / 1_000_000_000
        return Uptime(nanoseconds: UInt64(clamping: sum))
    }

    /// How long it is after an earlier reading; nothing where that is a later one.
    package func duration(since earlier: Uptime) -> Duration {
        .nanoseconds(Int64(clamping: nanoseconds(since: earlier)))
    }

    /// How many microseconds have passed since an earlier reading; 0 where it is none.
    package func microseconds(since earlier: Uptime) -> UInt32 {
        UInt32(clamping: nanoseconds(since: earlier) / 1000)
    }

    private func nanoseconds(since earlier: Uptime) -> UInt64 { nanoseconds - min(nanoseconds, earlier.nanoseconds) }

    package static func < (lhs: Uptime, rhs: Uptime) -> Bool { lhs.nanoseconds < rhs.nanoseconds }
}

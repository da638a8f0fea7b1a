package import Notifications

/// The time of day and the uptime, read at the same moment.
package struct Moment: Sendable, Hashable {
    /// The time of day. Notifications expire by it. It may jump, because somebody can set the clock.
    package var time: Timestamp
    /// The time since an arbitrary moment, for deadlines and rates. It never jumps.
    package var uptime: Uptime

    package init(time: Timestamp, uptime: Uptime) {
        self.time = time
        self.uptime = uptime
    }
}

/// A reading of a clock that only moves forward, at a constant rate.
package struct Uptime: Sendable, Hashable, Comparable {
    package var nanoseconds: UInt64

    package init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// Returns the reading `duration` later, or the last possible one if the sum overflows.
    package func advanced(by duration: Duration) -> Uptime {
        let sum = Int128(nanoseconds) + duration.attoseconds / 1_000_000_000
        return Uptime(nanoseconds: UInt64(clamping: sum))
    }

    /// Returns the reading `duration` earlier, or the first possible one.
    package func earlier(by duration: Duration) -> Uptime {
        Uptime(nanoseconds: nanoseconds - min(nanoseconds, UInt64(clamping: duration.attoseconds / 1_000_000_000)))
    }

    /// Returns the time since an earlier reading; zero if that reading is later.
    package func duration(since earlier: Uptime) -> Duration {
        .nanoseconds(Int64(clamping: nanoseconds(since: earlier)))
    }

    /// Returns the microseconds since an earlier reading; 0 if that reading is later.
    package func microseconds(since earlier: Uptime) -> UInt32 {
        UInt32(clamping: nanoseconds(since: earlier) / 1000)
    }

    private func nanoseconds(since earlier: Uptime) -> UInt64 { nanoseconds - min(nanoseconds, earlier.nanoseconds) }

    package static func < (lhs: Uptime, rhs: Uptime) -> Bool { lhs.nanoseconds < rhs.nanoseconds }
}

/// A moment, in milliseconds since 1970 (UTC), as the provider API writes it in a 410 (Guide, Table 8-5).
package struct Timestamp: Sendable, Hashable, Comparable {
    package var milliseconds: UInt64

    package init(milliseconds: UInt64) { self.milliseconds = milliseconds }

    /// Takes whole seconds, as headers and the binary API write them. Too large a number becomes the last possible
    /// moment.
    package init(seconds: UInt64) {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        milliseconds = overflow ? .max : product
    }

    /// The time in nanoseconds, for rates. A time beyond the greatest value, some five centuries from now, becomes
    /// that value.
    package var nanoseconds: UInt64 {
        let (product, overflow) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
        return overflow ? .max : product
    }

    /// Whole seconds since 1970, rounded down.
    package var seconds: UInt64 { milliseconds / 1000 }

    /// The moment `duration` later. It is limited to the last possible moment, and to 1970.
    package func advanced(by duration: Duration) -> Timestamp {
        let sum = Int128(milliseconds) + duration.attoseconds / 1_000_000_000_000_000
        return Timestamp(milliseconds: UInt64(clamping: sum))
    }

    package static func < (lhs: Timestamp, rhs: Timestamp) -> Bool { lhs.milliseconds < rhs.milliseconds }
}

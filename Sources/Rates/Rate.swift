/// How often something may happen: so many times at once, and so many more each second.
package struct Rate: Sendable, Hashable {
    /// How many are allowed at once, 1 or more.
    package var burst: Int
    /// How many more are allowed each second; 0 switches the limit off.
    package var perSecond: Double

    package init(burst: Int, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
    }

    /// No limit.
    package static let off = Rate(burst: 1, perSecond: 0)

    package var isOff: Bool { perSecond <= 0 }

    /// Nanoseconds that one event costs; a day at most, which keeps sums far from the end of their type.
    var cost: UInt64 { UInt64(min(1_000_000_000 / perSecond, 86_400e9)) }

    /// Nanoseconds that the burst holds.
    var depth: UInt64 {
        let (product, overflow) = cost.multipliedReportingOverflow(by: UInt64(max(1, burst)))
        return overflow ? .max / 2 : min(product, .max / 2)
    }
}

/// How often something may happen: so many times at once, and so many more each second.
public struct Rate: Sendable, Hashable {
    /// How many are allowed at once, 1 or more.
    public var burst: Int { didSet { work() } }
    /// How many more are allowed each second; 0 switches the limit off.
    public var perSecond: Double { didSet { work() } }

    /// Nanoseconds that one event costs; a day at most, which keeps sums far from the end of their type. Kept, because
    /// every request asks several times.
    public private(set) var cost: UInt64 = 0
    /// Nanoseconds that the burst holds.
    public private(set) var depth: UInt64 = 0

    public init(burst: Int, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
        work()
    }

    private mutating func work() {
        cost = isOff ? 0 : UInt64(min(1_000_000_000 / perSecond, 86_400e9))
        let (product, overflow) = cost.multipliedReportingOverflow(by: UInt64(max(1, burst)))
        depth = overflow ? .max / 2 : min(product, .max / 2)
    }

    /// No limit.
    public static let off = Rate(burst: 1, perSecond: 0)

    public var isOff: Bool { perSecond <= 0 }
}

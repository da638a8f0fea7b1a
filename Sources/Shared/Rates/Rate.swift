/// The rate at which events are allowed: a burst, and a number of further events each second.
public struct Rate: Sendable, Hashable {
    /// The number of events that are allowed at once, 1 or more.
    public var burst: Int { didSet { work() } }
    /// The number of further events that are allowed each second; 0 for no limit.
    public var perSecond: Double { didSet { work() } }

    /// The cost of one event in nanoseconds, at most a day, so that sums cannot overflow. It is stored, because every
    /// request reads it several times.
    public private(set) var cost: UInt64 = 0
    /// The cost of a whole burst in nanoseconds.
    public private(set) var burstCost: UInt64 = 0

    public init(burst: Int, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
        work()
    }

    private mutating func work() {
        cost = isUnlimited ? 0 : UInt64(min(1_000_000_000 / perSecond, 86_400e9))  // fits: at most a day in nanoseconds
        let (product, overflow) = cost.multipliedReportingOverflow(by: UInt64(max(1, burst)))  // fits: at least 1
        burstCost = overflow ? .max / 2 : min(product, .max / 2)
    }

    /// No limit.
    public static let unlimited = Rate(burst: 1, perSecond: 0)

    public var isUnlimited: Bool { perSecond <= 0 }
}

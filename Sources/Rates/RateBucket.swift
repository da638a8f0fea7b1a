/// Counts events against a ``Rate``: a leaky bucket that is kept as a single number, the time when it will be empty
/// (the generic cell rate algorithm).
public struct RateBucket: Sendable, Hashable {
    /// Nanoseconds of whatever clock the caller uses, always the same one.
    private var emptyAt: UInt64 = 0

    public init() {}

    /// Counts events and says whether they are within the rate; what is not does not count.
    /// - Parameters:
    ///   - now: in nanoseconds; a clock that goes back is as good as one that stands still.
    ///   - weight: as how many events it counts.
    public mutating func admits(_ rate: Rate, at now: UInt64, weight: UInt64 = 1) -> Bool {
        guard !rate.isOff else { return true }
        let (cost, costOverflow) = rate.cost.multipliedReportingOverflow(by: weight)
        let (next, overflow) = max(emptyAt, now).addingReportingOverflow(costOverflow ? .max : cost)
        guard !overflow, next - now <= rate.depth else { return false }
        emptyAt = next
        return true
    }

    /// Makes room for as many events, as far as what came before took it.
    public mutating func earn(_ rate: Rate, events: UInt64) {
        guard !rate.isOff else { return }
        let (credit, overflow) = rate.cost.multipliedReportingOverflow(by: events)
        emptyAt = overflow || credit > emptyAt ? 0 : emptyAt - credit
    }

    /// From when on the next event is within the rate.
    public func opens(_ rate: Rate) -> UInt64 {
        guard !rate.isOff else { return 0 }
        let (next, overflow) = emptyAt.addingReportingOverflow(rate.cost)
        return overflow ? .max : next - min(next, rate.depth)
    }

    /// Whether nothing of the past counts any more.
    public func isEmpty(at now: UInt64) -> Bool { emptyAt <= now }
}

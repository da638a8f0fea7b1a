/// Counts events against a ``Rate``. It is a leaky bucket, stored as a single number: the time at which it will be
/// empty (the generic cell rate algorithm).
public struct RateBucket: Sendable, Hashable {
    /// The time at which the bucket will be empty, in nanoseconds of the caller's clock. All calls must use the same
    /// clock.
    private var emptyAt: UInt64 = 0

    public init() {}

    /// Counts an event and returns whether it is within the rate. An event beyond the rate is not counted.
    /// - Parameters:
    ///   - now: the time in nanoseconds. If the clock goes back, the bucket behaves as if the clock stood still.
    ///   - weight: the number of events that it counts as.
    public mutating func admits(_ rate: Rate, at now: UInt64, weight: UInt64 = 1) -> Bool {
        guard !rate.isUnlimited else { return true }
        let (cost, costOverflow) = rate.cost.multipliedReportingOverflow(by: weight)
        let (next, overflow) = max(emptyAt, now).addingReportingOverflow(costOverflow ? .max : cost)
        guard !overflow, next - now <= rate.burstCost else { return false }
        emptyAt = next
        return true
    }

    /// Counts events that have happened elsewhere, also if they are beyond the rate. Later events then wait longer.
    public mutating func charge(_ rate: Rate, events: UInt64, at now: UInt64) {
        guard !rate.isUnlimited else { return }
        let (debt, overflow) = rate.cost.multipliedReportingOverflow(by: events)
        let (next, tooLate) = max(emptyAt, now).addingReportingOverflow(debt)
        emptyAt = overflow || tooLate ? .max / 2 : next
    }

    /// Gives back events that were counted, at most as many as are in the bucket.
    public mutating func earn(_ rate: Rate, events: UInt64) {
        guard !rate.isUnlimited else { return }
        let (credit, overflow) = rate.cost.multipliedReportingOverflow(by: events)
        emptyAt = overflow || credit > emptyAt ? 0 : emptyAt - credit
    }

    /// Makes the events older, as if this much time had passed, in nanoseconds.
    mutating func age(by duration: UInt64) { emptyAt -= min(emptyAt, duration) }

    /// The time from which the next event is within the rate.
    public func opens(_ rate: Rate) -> UInt64 {
        guard !rate.isUnlimited else { return 0 }
        let (next, overflow) = emptyAt.addingReportingOverflow(rate.cost)
        return overflow ? .max : next - min(next, rate.burstCost)
    }

    /// Whether the bucket is empty, so that earlier events no longer matter.
    public func isEmpty(at now: UInt64) -> Bool { emptyAt <= now }
}

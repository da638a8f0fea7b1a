/// A bucket for each of many keys, of which only those are kept that still count.
package struct RateTable<Key: Hashable & Sendable>: Sendable {
    /// How many keys make it worth looking for empty buckets.
    private static var firstSweep: Int { 1024 }

    private var buckets: [Key: RateBucket] = [:]
    private var sweepAt = RateTable.firstSweep
    private let rate: Rate

    package init(_ rate: Rate) { self.rate = rate }

    /// How many keys are kept.
    package var count: Int { buckets.count }

    /// Counts an event of the key and says whether it is within the rate.
    /// - Parameter now: in nanoseconds, of the same clock each time.
    package mutating func admits(_ key: Key, at now: UInt64, weight: UInt64 = 1) -> Bool {
        guard !rate.isOff else { return true }
        let isWithin = buckets[key, default: RateBucket()].admits(rate, at: now, weight: weight)
        if buckets.count >= sweepAt {
            buckets = buckets.filter { !$0.value.isEmpty(at: now) }
            // Twice what is left: a sweep is paid for by the keys that came since.
            sweepAt = max(Self.firstSweep, buckets.count * 2)
        }
        return isWithin
    }

    /// From when on the key's next event is within the rate; 0 where it is now.
    package func opens(_ key: Key) -> UInt64 { buckets[key]?.opens(rate) ?? 0 }
}

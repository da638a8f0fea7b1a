/// A bucket for each of many keys. Empty buckets are removed.
///
/// Everything in this module is public only for speed: the compiler specialises generic code of another module only
/// if it is public (Swift 6.3).
public struct RateTable<Key: Hashable & Sendable>: Sendable {
    /// The number of keys at which the table first searches for empty buckets.
    @usableFromInline static var firstSweep: Int { 1024 }

    @usableFromInline var buckets: [Key: RateBucket] = [:]
    @usableFromInline var sweepAt = RateTable.firstSweep
    @usableFromInline let rate: Rate

    @inlinable public init(_ rate: Rate) { self.rate = rate }

    /// The number of keys that have a bucket.
    @inlinable public var count: Int { buckets.count }

    /// Counts an event of the key and returns whether it is within the rate.
    /// - Parameter now: the time in nanoseconds, of the same clock in all calls.
    @inlinable
    public mutating func admits(_ key: Key, at now: UInt64, weight: UInt64 = 1) -> Bool {
        guard !rate.isUnlimited else { return true }
        let isWithin = buckets[key, default: RateBucket()].admits(rate, at: now, weight: weight)
        if buckets.count >= sweepAt {
            buckets = buckets.filter { !$0.value.isEmpty(at: now) }
            // Search again when there are twice as many keys. So the cost of a search is spread over the new keys.
            sweepAt = max(Self.firstSweep, buckets.count * 2)
            // Make room for them at once: a table that grows step by step would hash each key several times.
            buckets.reserveCapacity(sweepAt)
        }
        return isWithin
    }

    /// Makes the events of some keys older, as if time had passed for these keys only.
    /// - Parameter duration: the time in nanoseconds.
    package mutating func age(by duration: UInt64, where isAffected: (Key) -> Bool) {
        for key in buckets.keys where isAffected(key) { buckets[key]?.age(by: duration) }
    }

    /// The time from which the key's next event is within the rate; 0 if it is within the rate now.
    @inlinable public func opens(_ key: Key) -> UInt64 { buckets[key]?.opens(rate) ?? 0 }
}

/// A bucket for each of many keys, of which only those are kept that still count.
///
/// Public, as all of this module, for the compiler's sake alone: it specialises generic code of another module only if
/// that is public (Swift 6.3).
public struct RateTable<Key: Hashable & Sendable>: Sendable {
    /// How many keys make it worth looking for empty buckets.
    @usableFromInline static var firstSweep: Int { 1024 }

    @usableFromInline var buckets: [Key: RateBucket] = [:]
    @usableFromInline var sweepAt = RateTable.firstSweep
    @usableFromInline let rate: Rate

    @inlinable public init(_ rate: Rate) { self.rate = rate }

    /// How many keys are kept.
    @inlinable public var count: Int { buckets.count }

    /// Counts an event of the key and says whether it is within the rate.
    /// - Parameter now: in nanoseconds, of the same clock each time.
    @inlinable
    public mutating func admits(_ key: Key, at now: UInt64, weight: UInt64 = 1) -> Bool {
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
    @inlinable public func opens(_ key: Key) -> UInt64 { buckets[key]?.opens(rate) ?? 0 }
}

/// The contents of a histogram at one moment.
package struct HistogramReading: Sendable, Hashable {
    /// The upper bounds of the buckets, in growing order. There is one count more than bounds: that of the values
    /// above all bounds.
    package var bounds: [Double]
    package var counts: [UInt64]

    package init(bounds: [Double], counts: [UInt64]) {
        self.bounds = bounds
        self.counts = counts
    }

    /// The difference to an earlier reading of the same histogram.
    package func since(_ earlier: HistogramReading?) -> HistogramReading {
        guard let earlier, earlier.counts.count == counts.count else { return self }
        var difference = self
        for index in counts.indices { difference.counts[index] &-= min(counts[index], earlier.counts[index]) }
        return difference
    }

    /// The value that this share of all values does not exceed; nil if there are no values. Values count as evenly
    /// spread between two bounds, as in Prometheus' `histogram_quantile`. Values above all bounds count as the last
    /// bound.
    package func quantile(_ share: Double) -> Double? {
        let total = counts.reduce(0, &+)
        guard total > 0, let last = bounds.last else { return nil }
        let rank = share * Double(total)
        var below: UInt64 = 0
        for (index, count) in counts.enumerated() where count > 0 {
            if Double(below &+ count) >= rank {
                guard index < bounds.count else { return last }
                let start = index == 0 ? 0 : bounds[index - 1]
                let part = max(0, rank - Double(below)) / Double(count)
                return start + (bounds[index] - start) * part
            }
            below &+= count
        }
        return last
    }
}

/// The contents of a histogram at one time.
package struct HistogramReading: Sendable, Hashable {
    /// The upper bounds, growing; one more count than there are bounds is of what is above all.
    package var bounds: [Double]
    package var counts: [UInt64]

    package init(bounds: [Double], counts: [UInt64]) {
        self.bounds = bounds
        self.counts = counts
    }

    /// What was recorded since an earlier reading of the same histogram.
    package func since(_ earlier: HistogramReading?) -> HistogramReading {
        guard let earlier, earlier.counts.count == counts.count else { return self }
        var difference = self
        for index in counts.indices { difference.counts[index] &-= min(counts[index], earlier.counts[index]) }
        return difference
    }

    /// The value that a share of all values does not exceed: evenly spread between the bounds, as Prometheus'
    /// `histogram_quantile` has it. What is above all bounds counts as the last of them. Nil without values.
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

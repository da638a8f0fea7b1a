import CoreMetrics
import Testing

@testable import PrometheusMetrics

/// What is read from a histogram.
struct HistogramReadingTests {
    private func reading(_ counts: [UInt64]) -> HistogramReading {
        HistogramReading(bounds: [1, 2, 4], counts: counts)
    }

    @Test(arguments: [
        ([10, 0, 0, 0], 0.5, 0.5), ([10, 0, 0, 0], 1, 1), ([0, 10, 0, 0], 0.5, 1.5), ([5, 0, 5, 0], 0.5, 1),
        ([5, 0, 5, 0], 0.75, 3), ([0, 0, 0, 3], 0.99, 4), ([1, 0, 0, 99], 0.5, 4),
    ])
    func `Values count as evenly spread between the bounds of a bucket`(
        _ counts: [UInt64], _ share: Double, _ expected: Double
    ) {
        #expect(reading(counts).quantile(share) == expected)
    }

    @Test func `Without values there is no quantile`() { #expect(reading([0, 0, 0, 0]).quantile(0.5) == nil) }

    @Test func `The difference of two readings is what was recorded in between`() {
        #expect(reading([5, 2, 0, 1]).since(reading([3, 2, 0, 0])) == reading([2, 0, 0, 1]))
        #expect(reading([5, 2, 0, 1]).since(nil) == reading([5, 2, 0, 1]))
    }

    @Test func `A registry returns its values by their names in Prometheus' format`() {
        let registry = PrometheusRegistry()
        registry.makeCounter(label: "events_total", dimensions: [("event", "sent")]).increment(by: 3)
        registry.makeMeter(label: "devices", dimensions: []).set(7 as Int64)
        registry.makeTimer(label: "storing_seconds", dimensions: []).recordNanoseconds(200_000)
        #expect(registry.values == [#"events_total{event="sent"}"#: 3, "devices": 7])
        #expect(registry.histograms["storing_seconds"]?.counts[1] == 1)
    }
}

import CoreMetrics
import Testing

@testable import PrometheusMetrics

/// What Prometheus reads.
@Suite("Prometheus")
struct PrometheusRegistryTests {
    private let registry = PrometheusRegistry()

    private var lines: [String] { registry.text().split(separator: "\n").map(String.init) }

    @Test("without metrics the text is empty")
    func empty() {
        #expect(registry.text() == "")
    }

    @Test("counters of one name are next to each other, under one type")
    func counters() {
        Counter(label: "b_total", factory: registry).increment()
        Counter(label: "a_total", dimensions: [("event", "sent")], factory: registry).increment(by: 3)
        Counter(label: "a_total", dimensions: [("event", "expired")], factory: registry).increment(by: 2)
        #expect(
            lines == [
                "# TYPE a_total counter", #"a_total{event="expired"} 2"#, #"a_total{event="sent"} 3"#,
                "# TYPE b_total counter", "b_total 1",
            ])
    }

    @Test("two handlers with the same name and labels count together")
    func sameSeries() {
        for _ in 0..<2 { Counter(label: "a", dimensions: [("x", "y")], factory: registry).increment() }
        #expect(lines.last == #"a{x="y"} 2"#)
    }

    @Test("a counter stops at its largest number, and a reset sets it to 0")
    func counterBounds() {
        let counter = Counter(label: "a", factory: registry)
        counter.increment(by: Int64.max)
        counter.increment(by: 1)
        #expect(lines.last == "a 9223372036854775807")
        counter.reset()
        #expect(lines.last == "a 0")
    }

    @Test("meters are gauges")
    func gauges() {
        let meter = Meter(label: "connected", factory: registry)
        meter.set(5)
        meter.decrement()
        #expect(lines == ["# TYPE connected gauge", "connected 4"])
        meter.set(0.5)
        #expect(lines.last == "connected 0.5")
    }

    @Test("timers are histograms in seconds, with every bucket, the sum and the count")
    func timers() {
        let timer = Timer(label: "storing", dimensions: [("x", "y")], factory: registry)
        timer.recordMicroseconds(200)
        timer.recordMilliseconds(3)
        timer.recordSeconds(60)
        #expect(lines.first == "# TYPE storing_seconds histogram")
        #expect(lines.contains(#"storing_seconds_bucket{x="y",le="0.0001"} 0"#))
        #expect(lines.contains(#"storing_seconds_bucket{x="y",le="0.00025"} 1"#))
        #expect(lines.contains(#"storing_seconds_bucket{x="y",le="0.005"} 2"#))
        #expect(lines.contains(#"storing_seconds_bucket{x="y",le="30"} 2"#))
        #expect(lines.contains(#"storing_seconds_bucket{x="y",le="+Inf"} 3"#))
        #expect(lines.contains(#"storing_seconds_sum{x="y"} 60.0032"#))
        #expect(lines.contains(#"storing_seconds_count{x="y"} 3"#))
    }

    @Test("recorders that aggregate are histograms, and others are gauges")
    func recorders() {
        Recorder(label: "size", factory: registry).record(17)
        Recorder(label: "last", aggregate: false, factory: registry).record(17)
        #expect(lines.contains(#"size_bucket{le="16"} 0"#))
        #expect(lines.contains(#"size_bucket{le="64"} 1"#))
        #expect(lines.contains("last 17"))
    }

    @Test("names and labels are changed to what the format allows")
    func names() {
        Counter(label: "9 lives.total", dimensions: [("a-b", "say \"\\\"\nand go")], factory: registry).increment()
        #expect(lines.last == #"__lives_total{a_b="say \"\\\"\nand go"} 1"#)
    }

    @Test("destroyed metrics are not shown")
    func destroys() {
        let counter = Counter(label: "a", factory: registry)
        counter.destroy()
        #expect(registry.text() == "")
    }

    @Test("beyond the limit metrics are not kept")
    func bounded() {
        for index in 0...PrometheusRegistry.maximumSeries {
            Counter(label: "a", dimensions: [("i", "\(index)")], factory: registry).increment()
        }
        #expect(lines.count == PrometheusRegistry.maximumSeries + 1)
    }
}

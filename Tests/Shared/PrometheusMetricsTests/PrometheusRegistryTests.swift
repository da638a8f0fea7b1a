import CoreMetrics
import Testing

@testable import PrometheusMetrics

/// What Prometheus reads.
@Suite("Metrics in the text format of Prometheus")
struct PrometheusRegistryTests {
    private let registry = PrometheusRegistry()

    private var lines: [String] { registry.text().split(separator: "\n").map(String.init) }

    @Test
    func `Without metrics the text is empty`() {
        #expect(registry.text() == "")
    }

    @Test
    func `Counters of one name are next to each other, under one type`() {
        Counter(label: "b_total", factory: registry).increment()
        Counter(label: "a_total", dimensions: [("event", "sent")], factory: registry).increment(by: 3)
        Counter(label: "a_total", dimensions: [("event", "expired")], factory: registry).increment(by: 2)
        #expect(
            lines == [
                "# TYPE a_total counter", #"a_total{event="expired"} 2"#, #"a_total{event="sent"} 3"#,
                "# TYPE b_total counter", "b_total 1",
            ])
    }

    @Test
    func `A metric whose sentence is known has it before its type`() {
        let registry = PrometheusRegistry(help: ["a_total": "What\\it\nis."])
        FloatingPointCounter(label: "a_total", factory: registry).increment(by: 0.5)
        #expect(registry.text() == "# HELP a_total What\\\\it\\nis.\n# TYPE a_total counter\na_total 0.5\n")
    }

    @Test
    func `Two handlers with the same name and labels count together`() {
        for _ in 0..<2 { Counter(label: "a", dimensions: [("x", "y")], factory: registry).increment() }
        #expect(lines.last == #"a{x="y"} 2"#)
    }

    @Test
    func `A counter stops at its largest number, and a reset sets it to 0`() {
        let counter = Counter(label: "a", factory: registry)
        counter.increment(by: Int64.max)
        counter.increment(by: 1)
        #expect(lines.last == "a 9223372036854775807")
        counter.reset()
        #expect(lines.last == "a 0")
    }

    @Test
    func `Meters are gauges`() {
        let meter = Meter(label: "connected", factory: registry)
        meter.set(5)
        meter.decrement()
        #expect(lines == ["# TYPE connected gauge", "connected 4"])
        meter.set(0.5)
        #expect(lines.last == "connected 0.5")
    }

    @Test
    func `Timers are histograms in seconds, with every bucket, the sum and the count`() {
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

    @Test
    func `Recorders that aggregate are histograms, and others are gauges`() {
        Recorder(label: "size", factory: registry).record(17)
        Recorder(label: "last", aggregate: false, factory: registry).record(17)
        #expect(lines.contains(#"size_bucket{le="16"} 0"#))
        #expect(lines.contains(#"size_bucket{le="64"} 1"#))
        #expect(lines.contains("last 17"))
    }

    @Test
    func `Names and labels are changed to what the format allows`() {
        Counter(label: "9 lives.total", dimensions: [("a-b", "say \"\\\"\nand go")], factory: registry).increment()
        #expect(lines.last == #"__lives_total{a_b="say \"\\\"\nand go"} 1"#)
    }

    @Test
    func `A combining mark after a quotation mark does not hide it`() {
        Counter(label: "a", dimensions: [("b", "x\"\u{301}\\\u{301}")], factory: registry).increment()
        #expect(lines.last.map { Array($0.utf8) } == Array("a{b=\"x\\\"\u{301}\\\\\u{301}\"} 1".utf8))
    }

    @Test
    func `Destroyed metrics are not shown`() {
        let counter = Counter(label: "a", factory: registry)
        counter.destroy()
        #expect(registry.text() == "")
    }

    @Test
    func `Beyond the limit metrics are not kept`() {
        for index in 0...PrometheusRegistry.maximumSeries {
            Counter(label: "a", dimensions: [("i", "\(index)")], factory: registry).increment()
        }
        #expect(lines.count == PrometheusRegistry.maximumSeries + 1)
    }
}

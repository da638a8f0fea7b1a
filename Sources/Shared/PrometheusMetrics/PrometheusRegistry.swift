package import CoreMetrics
import Synchronization

/// Keeps the metrics that are made through the API of swift-metrics, and writes them in the text format that Prometheus
/// reads (https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4).
///
/// A counter stays a counter. Meters, and recorders that do not aggregate, become gauges. Timers become histograms in
/// seconds. Other recorders become histograms in the unit of their values.
package final class PrometheusRegistry: MetricsFactory {
    /// The largest number of metrics; each set of labels counts as one. The limit is needed in case a label's value
    /// comes from a stranger. Further metrics are not kept.
    package static let maximumSeries = 10_000

    private let state = Mutex(State())
    /// What each metric is, in a sentence, by its name.
    private let help: [String: String]

    private struct State {
        var series: [SeriesName: any Series] = [:]
    }

    /// - Parameter help: what each metric is, in a sentence, by its name. swift-metrics has no place for it.
    package init(help: [String: String] = [:]) { self.help = help }

    /// All metrics as text. Metrics with the same name are next to each other.
    package func text() -> String {
        let series = state.withLock { $0.series }.sorted { $0.key < $1.key }
        var text = ""
        var family: String?
        for (name, value) in series {
            if name.name != family {
                if let help = help[name.name] { text += "# HELP \(name.name) \(Self.escaped(help))\n" }
                text += "# TYPE \(name.name) \(value.type)\n"
                family = name.name
            }
            value.write(name, to: &text)
        }
        return text
    }

    private static func escaped(_ help: String) -> String {
        help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    }

    /// The values of all counters and gauges, by name and labels as the format writes them.
    package var values: [String: Double] {
        state.withLock { $0.series }.reduce(into: [:]) { values, series in
            if case .value(let value) = series.value.reading { values[series.key.text()] = value }
        }
    }

    /// The contents of all histograms, by name and labels.
    package var histograms: [String: HistogramReading] {
        state.withLock { $0.series }.reduce(into: [:]) { histograms, series in
            if case .histogram(let reading) = series.value.reading { histograms[series.key.text()] = reading }
        }
    }

    /// The metric with this name, which is made if it does not exist. If a metric of another kind has the name, that
    /// one is kept.
    private func series<Value: Series>(
        _ label: String,
        _ dimensions: [(String, String)],
        suffix: String = "",
        _ make: () -> Value,
    ) -> Value {
        let name = SeriesName(label + suffix, dimensions)
        return state.withLock { state in
            if let known = state.series[name] { return known as? Value ?? make() }
            let new = make()
            if state.series.count < Self.maximumSeries { state.series[name] = new }
            return new
        }
    }

    private func forget(_ series: any Series) {
        state.withLock { state in state.series = state.series.filter { $0.value !== series } }
    }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, dimensions) { PrometheusCounter() }
    }

    package func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(label, dimensions) { PrometheusFloatingPointCounter() }
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, dimensions) { PrometheusGauge() }
    }

    package func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool,
    ) -> any RecorderHandler {
        aggregate
            ? series(label, dimensions) { PrometheusHistogram(bounds: PrometheusHistogram.sizes) }
            : series(label, dimensions) { PrometheusGauge() }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, dimensions, suffix: label.hasSuffix("_seconds") ? "" : "_seconds") {
            PrometheusHistogram(bounds: PrometheusHistogram.seconds)
        }
    }

    package func destroyCounter(_ handler: any CounterHandler) {
        if let series = handler as? any Series { forget(series) }
    }

    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {
        if let series = handler as? any Series { forget(series) }
    }

    package func destroyMeter(_ handler: any MeterHandler) {
        if let series = handler as? any Series { forget(series) }
    }

    package func destroyRecorder(_ handler: any RecorderHandler) {
        if let series = handler as? any Series { forget(series) }
    }

    package func destroyTimer(_ handler: any TimerHandler) {
        if let series = handler as? any Series { forget(series) }
    }
}

/// One metric with one set of labels.
protocol Series: AnyObject, Sendable {
    /// The type's name in Prometheus' format.
    var type: String { get }
    var reading: SeriesReading { get }
    func write(_ name: SeriesName, to text: inout String)
}

/// The value of a metric at one moment.
enum SeriesReading {
    case value(Double)
    case histogram(HistogramReading)
}

package import CoreMetrics
import Synchronization

/// Keeps the metrics that are made through the API of swift-metrics, and writes them in the text format that Prometheus
/// reads (https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4).
///
/// Counters become counters. Meters, and recorders that do not aggregate, become gauges. Timers become histograms in
/// seconds, other recorders histograms in the unit of their values.
package final class PrometheusRegistry: MetricsFactory {
    /// How many metrics there may be; each set of labels counts as one. This limits memory if a label's value comes
    /// from a stranger. Metrics beyond it are not kept.
    package static let maximumSeries = 10_000

    private let state = Mutex(State())

    private struct State {
        var series: [SeriesName: any Series] = [:]
    }

    package init() {}

    /// All metrics as text, those with the same name together.
    package func text() -> String {
        let series = state.withLock { $0.series }.sorted { $0.key < $1.key }
        var text = ""
        var family: String?
        for (name, value) in series {
            if name.name != family {
                text += "# TYPE \(name.name) \(value.type)\n"
                family = name.name
            }
            value.write(name, to: &text)
        }
        return text
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

    /// The metric with this name; makes one if there is none. If another kind has the name, the first one counts.
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

/// What a metric is at now.
enum SeriesReading {
    case value(Double)
    case histogram(HistogramReading)
}

import CoreMetrics
import Synchronization

/// A value that goes up and down.
final class PrometheusGauge: MeterHandler, RecorderHandler, Series {
    private let value = Mutex(0.0)

    let type = "gauge"

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { self.value.withLock { $0 = value } }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { value.withLock { $0 -= amount } }
    func record(_ value: Int64) { set(value) }
    func record(_ value: Double) { set(value) }

    var reading: SeriesReading { .value(value.withLock(\.self)) }

    func write(_ name: SeriesName, to text: inout String) {
        text += "\(name.text()) \(value.withLock { $0 }.prometheus)\n"
    }
}

extension Double {
    /// The value in Prometheus' format: whole numbers without a fraction, and `NaN`, `+Inf` and `-Inf`.
    var prometheus: String {
        if isNaN { return "NaN" }
        if isInfinite { return self < 0 ? "-Inf" : "+Inf" }
        return Int64(exactly: self).map(String.init) ?? "\(self)"
    }
}

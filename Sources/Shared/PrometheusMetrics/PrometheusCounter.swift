import CoreMetrics
import Synchronization

/// A value that only grows.
final class PrometheusCounter: CounterHandler, Series {
    private let value = Mutex<Int64>(0)

    let type = "counter"

    func increment(by amount: Int64) {
        value.withLock { value in
            let (sum, overflow) = value.addingReportingOverflow(max(0, amount))
            value = overflow ? .max : sum
        }
    }

    func reset() { value.withLock { $0 = 0 } }

    var reading: SeriesReading { .value(Double(value.withLock(\.self))) }

    func write(_ name: SeriesName, to text: inout String) {
        text += "\(name.text()) \(value.withLock { $0 })\n"
    }
}

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

/// A value that only grows, with a fraction.
final class PrometheusFloatingPointCounter: FloatingPointCounterHandler, Series {
    private let value = Mutex(0.0)

    let type = "counter"

    func increment(by amount: Double) { value.withLock { $0 += max(0, amount) } }

    func reset() { value.withLock { $0 = 0 } }

    var reading: SeriesReading { .value(value.withLock(\.self)) }

    func write(_ name: SeriesName, to text: inout String) {
        text += "\(name.text()) \(value.withLock { $0 }.prometheus)\n"
    }
}

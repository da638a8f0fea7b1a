import CoreMetrics
import Synchronization

/// Counts values in buckets by size.
final class PrometheusHistogram: TimerHandler, RecorderHandler, Series {
    /// The bounds for durations: three for each power of ten, from the time of a fast request to longer than anybody
    /// waits.
    static let seconds = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
    ]
    /// The bounds for sizes: powers of four.
    static let sizes = (0..<12).map { Double(1 << (2 * $0)) }

    private let bounds: [Double]
    private let state: Mutex<State>

    private struct State {
        /// How many values each bucket has: those up to its bound, and above the bound before it. The last bucket has
        /// all values above the last bound.
        var counts: [UInt64]
        var sum = 0.0
    }

    let type = "histogram"

    init(bounds: [Double]) {
        self.bounds = bounds
        state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        let index = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[index] &+= 1
            state.sum += value
        }
    }

    var reading: SeriesReading {
        .histogram(HistogramReading(bounds: bounds, counts: state.withLock { $0.counts }))
    }

    func write(_ name: SeriesName, to text: inout String) {
        let (counts, sum) = state.withLock { ($0.counts, $0.sum) }
        var total: UInt64 = 0
        for (bound, count) in zip(bounds + [.infinity], counts) {
            total &+= count
            text += "\(name.text(suffix: "_bucket", adding: #"le="\#(bound.prometheus)""#)) \(total)\n"
        }
        text += "\(name.text(suffix: "_sum")) \(sum.prometheus)\n"
        text += "\(name.text(suffix: "_count")) \(total)\n"
    }
}

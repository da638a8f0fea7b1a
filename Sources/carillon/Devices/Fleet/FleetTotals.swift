import APNSDevice
import Foundation
import Histogram
import NIOCore
import Synchronization

/// The counts of a fleet. All threads add to them.
final class FleetTotals: DeviceObserver {
    /// The longest time that is recorded, in microseconds: an hour.
    private static let longest: UInt64 = 3_600_000_000

    private struct State {
        var counts = Counts()
        var connect = FleetTotals.histogram()
        var delivery = FleetTotals.histogram()
        var acknowledgement = FleetTotals.histogram()
    }

    struct Counts: Sendable {
        var connected = 0
        var received: UInt64 = 0
        var acknowledged: UInt64 = 0
        var duplicates: UInt64 = 0
        var reconnects: UInt64 = 0
        var failures: UInt64 = 0
    }

    private let state = Mutex(State())

    private static func histogram() -> Histogram<UInt64> {
        Histogram(highestTrackableValue: longest, numberOfSignificantValueDigits: .three)
    }

    var counts: Counts { state.withLock { $0.counts } }

    func count(_ change: (inout Counts) -> Void) { state.withLock { change(&$0.counts) } }

    func connected(after time: Duration) { state.withLock { Self.record(time, in: &$0.connect) } }

    /// Counts a notification, and the time since it was sent, if that is known.
    func received(after time: Duration?) {
        state.withLock {
            $0.counts.received += 1
            if let time { Self.record(time, in: &$0.delivery) }
        }
    }

    /// Counts notifications that one request has acknowledged. Each of them has taken its time, so that the percentiles are
    /// of notifications and not of requests.
    func acknowledged(_ count: Int, after time: TimeAmount) {
        state.withLock {
            $0.counts.acknowledged += UInt64(count)  // fits: a count
            Self.record(.nanoseconds(time.nanoseconds), count: UInt64(count), in: &$0.acknowledgement)  // fits: a count
        }
    }

    func duplicateReceived() { count { $0.duplicates += 1 } }

    private static func record(_ time: Duration, count: UInt64 = 1, in histogram: inout Histogram<UInt64>) {
        // The clocks of two machines may differ, so a negative time counts as zero.
        let microseconds = UInt64(max(0, time / .microseconds(1)))  // fits: an Int64 of nanoseconds, in microseconds
        _ = histogram.record(min(microseconds, longest), count: count)
    }

    /// The line with the totals.
    /// - Parameter connected: the number of connected devices to print; nil means the present number.
    func line(isLast: Bool, connected: Int? = nil) -> Line {
        state.withLock { state in
            Line(
                last: isLast, connected: connected ?? state.counts.connected, received: state.counts.received,
                acknowledged: state.counts.acknowledged, duplicates: state.counts.duplicates,
                reconnects: state.counts.reconnects, failures: state.counts.failures,
                latency: Latencies(
                    connect: Percentiles(state.connect), delivery: Percentiles(state.delivery),
                    acknowledgement: Percentiles(state.acknowledgement)))
        }
    }

    struct Line: Encodable, Sendable {
        let event = "totals"
        let last: Bool
        let connected: Int
        let received: UInt64
        let acknowledged: UInt64
        let duplicates: UInt64
        let reconnects: UInt64
        let failures: UInt64
        let latency: Latencies
    }

    struct Latencies: Encodable, Sendable {
        let connect: Percentiles?
        let delivery: Percentiles?
        let acknowledgement: Percentiles?
    }

    /// Percentiles of a duration, in milliseconds.
    struct Percentiles: Encodable, Sendable {
        let count: UInt64
        let p50, p90, p99, p999, max: Double

        /// - Returns: nil if nothing was measured.
        init?(_ histogram: Histogram<UInt64>) {
            guard histogram.totalCount > 0 else { return nil }
            func value(_ percentile: Double) -> Double { Double(histogram.valueAtPercentile(percentile)) / 1000 }
            count = histogram.totalCount
            p50 = value(50)
            p90 = value(90)
            p99 = value(99)
            p999 = value(99.9)
            max = Double(histogram.maxRecorded) / 1000
        }
    }
}

extension FleetTotals.Line {
    /// The percentiles as text for people.
    var text: String {
        var lines = [
            (last ? "In all: " : "") + "\(connected) connected, \(received) received, \(acknowledged) acknowledged, "
                + "\(duplicates) twice, \(reconnects) reconnects, \(failures) failures"
        ]
        func add(_ name: String, _ percentiles: FleetTotals.Percentiles?) {
            guard let percentiles else { return }
            func shown(_ value: Double) -> String { String(format: "%.1f", value) }
            lines.append(
                "  \(name.padding(toLength: 16, withPad: " ", startingAt: 0))"
                    + "p50 \(shown(percentiles.p50))  p90 \(shown(percentiles.p90))  p99 \(shown(percentiles.p99))  "
                    + "p99.9 \(shown(percentiles.p999))  max \(shown(percentiles.max)) ms  (\(percentiles.count))")
        }
        add("connect", latency.connect)
        add("delivery", latency.delivery)
        add("acknowledgement", latency.acknowledgement)
        return lines.joined(separator: "\n")
    }
}

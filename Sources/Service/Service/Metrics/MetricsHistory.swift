import Management
import Notifications
import PrometheusMetrics
import Synchronization

/// The metrics of the last hour, which the console shows to people without a monitoring system.
final class MetricsHistory: Sendable {
    /// The time between two samples. A graph of an hour has 360 points, about as many as a screen shows.
    static let interval = Duration.seconds(10)

    /// The number of samples that are kept: those of one hour, about 100 KB.
    static let samples = 360

    private struct State {
        var samples: [ManagementMessages.ServiceSample] = []
        var last: MetricsReading?
    }

    private let state: Mutex<State>
    private let read: @Sendable () -> MetricsReading

    /// - Parameter read: reads all metrics.
    init(_ read: @escaping @Sendable () -> MetricsReading) {
        self.read = read
        // Take the first reading now, because each sample is the difference between two readings.
        state = Mutex(State(last: read()))
    }

    /// Adds a sample: the difference between a new reading and the last one.
    func sample() {
        let reading = read()
        state.withLock { state in
            if let last = state.last, let sample = reading.sample(since: last) {
                state.samples.append(sample)
                state.samples.removeFirst(max(0, state.samples.count - Self.samples))
            }
            state.last = reading
        }
    }

    /// The samples that are later than a moment in milliseconds since 1970, the oldest first.
    func samples(after moment: UInt64) -> [ManagementMessages.ServiceSample] {
        state.withLock { $0.samples.filter { $0.time > moment } }
    }
}

/// The values of the metrics at one moment.
struct MetricsReading: Sendable {
    let time: Timestamp
    let values: [String: Double]
    let histograms: [String: HistogramReading]

    init(_ registry: PrometheusRegistry, at time: Timestamp) {
        self.time = time
        values = registry.values
        histograms = registry.histograms
    }

    /// The difference to an earlier reading; nil if no time has passed in between.
    func sample(since earlier: MetricsReading) -> ManagementMessages.ServiceSample? {
        guard time > earlier.time else { return nil }
        func growth(_ name: String) -> UInt64 {
            UInt64(exactly: ((values[name] ?? 0) - (earlier.values[name] ?? 0)).rounded()) ?? 0
        }
        func events(_ event: String) -> UInt64 { growth(#"carillon_notification_events_total{event="\#(event)"}"#) }
        func gauge(_ name: String) -> UInt64? { values[name].flatMap { UInt64(exactly: $0.rounded()) } }
        let prefix = "carillon_limits_exceeded_total{limit=\""
        var limits: [String: UInt64] = [:]
        for name in values.keys where name.hasPrefix(prefix) && growth(name) > 0 {
            limits[String(name.dropFirst(prefix.count).dropLast(2))] = growth(name)
        }
        return ManagementMessages.ServiceSample(
            time: time.milliseconds,
            duration: time.milliseconds - earlier.time.milliseconds,  // fits: it is later
            accepted: events("accepted"), rejected: events("rejected"), stored: events("stored"),
            delivered: events("acknowledged"),
            connectedDevices: gauge("carillon_connected_devices") ?? 0,
            pendingStores: gauge("carillon_pending_stores") ?? 0,
            memory: gauge("carillon_resident_memory_bytes"),
            limits: limits,
            storing: latency("carillon_accepted_to_stored_seconds", since: earlier),
            acknowledging: latency("carillon_sent_to_acknowledged_seconds", since: earlier))
    }

    private func latency(_ name: String, since earlier: MetricsReading) -> ManagementMessages.Latency? {
        guard let recorded = histograms[name]?.since(earlier.histograms[name]) else { return nil }
        func microseconds(_ share: Double) -> UInt64? {
            recorded.quantile(share).flatMap { UInt64(exactly: ($0 * 1_000_000).rounded()) }
        }
        guard let median = microseconds(0.5), let p90 = microseconds(0.9), let p99 = microseconds(0.99) else {
            return nil
        }
        return ManagementMessages.Latency(p50: median, p90: p90, p99: p99)
    }
}

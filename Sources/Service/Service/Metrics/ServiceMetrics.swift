import Connections
import CoreMetrics
import Delivery
import DeliveryLogFiles
import Notifications
import PrometheusMetrics
import Rates
import Synchronization

/// Counts the events of the delivery log, and measures how long storing and acknowledging take (docs/metrics.md).
/// This happens on the delivery log's thread, so notifications do not wait for it.
final class ServiceMetrics: Sendable {
    private let events: [DeliveryStep.Kind: Counter]
    private let rejections: Mutex<[Rejection.Reason: Counter]>
    private let grantAnswers = Mutex<[GrantAnswer: Counter]>([:])
    private let limits: [Limit: Counter]
    private let malformed = Mutex<[String: Counter]>([:])
    private let lost: Counter
    private let broadcastDeliveries: Counter
    private let storing: Timer
    private let acknowledging: Timer
    private let devices: Meter
    private let pendingStores: Meter
    private let memory: Meter
    private let registry = PrometheusRegistry(help: MetricHelp.texts)
    var factory: any MetricsFactory { registry }

    init() {
        let factory = registry
        events = Dictionary(
            uniqueKeysWithValues: DeliveryStep.Kind.allCases.map { kind in
                let dimensions = [("event", kind.name)]
                return (
                    kind, Counter(label: "carillon_notification_events_total", dimensions: dimensions, factory: factory)
                )
            })
        rejections = Mutex([:])
        // Create all counters at the start, because a monitoring system cannot watch the rate of a counter that does
        // not exist yet.
        limits = Dictionary(
            uniqueKeysWithValues: Limit.all.map { limit in
                let dimensions = [("limit", limit.rawValue)]
                return (
                    limit, Counter(label: "carillon_limits_exceeded_total", dimensions: dimensions, factory: factory)
                )
            })
        broadcastDeliveries = Counter(label: "carillon_broadcast_deliveries_total", factory: factory)
        lost = Counter(label: "carillon_delivery_log_lost_total", factory: factory)
        storing = Timer(label: "carillon_accepted_to_stored_seconds", factory: factory)
        acknowledging = Timer(label: "carillon_sent_to_acknowledged_seconds", factory: factory)
        devices = Meter(label: "carillon_connected_devices", factory: factory)
        pendingStores = Meter(label: "carillon_pending_stores", factory: factory)
        memory = Meter(label: "carillon_resident_memory_bytes", factory: factory)
    }

    /// Counts what the delivery log has recorded.
    func count(_ summary: FileDeliveryLog.WriteSummary) {
        let tally = summary.tally
        for (kind, counter) in events where tally[kind] > 0 { counter.increment(by: tally[kind]) }
        for (reason, count) in tally.rejections { counter(reason).increment(by: count) }
        for microseconds in tally.storing { storing.recordMicroseconds(microseconds) }
        for microseconds in tally.acknowledging { acknowledging.recordMicroseconds(microseconds) }
        if tally[.throttled] > 0 { limits[.silentRate]?.increment(by: tally[.throttled]) }
        let losses = summary.losses
        if losses > 0 { lost.increment(by: losses) }
    }

    /// Counts the devices that a broadcast was sent to.
    func broadcastSent(to devices: Int) { broadcastDeliveries.increment(by: devices) }

    /// Counts an exceeded limit.
    func limitExceeded(_ limit: Limit) { limits[limit]?.increment() }

    /// Counts malformed requests. There are as many counters as listeners.
    func malformedRequests(at listener: String, by count: Int) {
        let counter = malformed.withLock { counters in
            if let known = counters[listener] { return known }
            let new = Counter(
                label: "carillon_malformed_requests_total", dimensions: [("listener", listener)], factory: factory)
            counters[listener] = new
            return new
        }
        counter.increment(by: count)
    }

    private struct GrantAnswer: Hashable {
        let grant: GrantID
        let outcome: String
    }

    /// Counts an answer to a request of a grant. There are as many counters as grants with different answers.
    func grantAnswered(_ grant: GrantID, _ outcome: String) {
        let counter = grantAnswers.withLock { counters in
            let key = GrantAnswer(grant: grant, outcome: outcome)
            if let known = counters[key] { return known }
            let new = Counter(
                label: "carillon_grant_answers_total",
                dimensions: [("grant", grant.rawValue), ("outcome", outcome)], factory: factory)
            counters[key] = new
            return new
        }
        counter.increment()
    }

    private func counter(_ reason: Rejection.Reason) -> Counter {
        rejections.withLock { counters in
            if let known = counters[reason] { return known }
            let dimensions = [("reason", reason.rawValue)]
            let new = Counter(label: "carillon_rejections_total", dimensions: dimensions, factory: factory)
            counters[reason] = new
            return new
        }
    }

    /// All metrics, after those were set that are computed only when they are read.
    func read(connectedDevices: Int, pendingStores: Int) -> PrometheusRegistry {
        devices.set(connectedDevices)
        self.pendingStores.set(pendingStores)
        if let bytes = ResidentMemory.bytes { memory.set(bytes) }
        return registry
    }
}

import CoreMetrics
import Delivery
import DeliveryLogFiles
import Notifications
import Synchronization

/// Counts what the delivery log is told, and how long storing and acknowledging take (docs/metrics.md). Off the way of
/// notifications: on the delivery log's thread.
final class ServiceMetrics: Sendable {
    private let events: [EventName: Counter]
    private let rejections: Mutex<[Rejection.Reason: Counter]>
    private let lost: Counter
    private let storing: Timer
    private let acknowledging: Timer
    private let devices: Meter
    private let pendingStores: Meter
    private let factory: any MetricsFactory

    init(factory: any MetricsFactory) {
        self.factory = factory
        events = Dictionary(
            uniqueKeysWithValues: EventName.allCases.map { name in
                let dimensions = [("event", name.rawValue)]
                return (
                    name,
                    Counter(label: "carillon_notification_events_total", dimensions: dimensions, factory: factory)
                )
            })
        rejections = Mutex([:])
        lost = Counter(label: "carillon_delivery_log_lost_total", factory: factory)
        storing = Timer(label: "carillon_accepted_to_stored_seconds", factory: factory)
        acknowledging = Timer(label: "carillon_sent_to_acknowledged_seconds", factory: factory)
        devices = Meter(label: "carillon_connected_devices", factory: factory)
        pendingStores = Meter(label: "carillon_pending_stores", factory: factory)
    }

    /// An event's name as `carillon log` has it.
    private enum EventName: String, CaseIterable {
        case accepted, rejected, stored, replaced, coalesced, deferred, throttled, sent, acknowledged, expired,
            discarded

        init(_ step: DeliveryStep) {
            self =
                switch step {
                case .accepted: .accepted
                case .rejected: .rejected
                case .stored: .stored
                case .replaced: .replaced
                case .coalesced: .coalesced
                case .deferred: .deferred
                case .throttled: .throttled
                case .sent: .sent
                case .acknowledged: .acknowledged
                case .expired: .expired
                case .discarded: .discarded
                }
        }
    }

    func note(_ report: FileDeliveryLog.Report) {
        var counts: [EventName: Int] = [:]
        for event in report.events {
            counts[EventName(event.step), default: 0] += 1
            switch event.step {
            case .rejected(let reason): countRejection(reason)
            case .stored(let microseconds): storing.recordMicroseconds(microseconds)
            case .acknowledged(let microseconds): acknowledging.recordMicroseconds(microseconds)
            default: break
            }
        }
        for (name, count) in counts { events[name]?.increment(by: count) }
        let losses = report.losses
        if losses > 0 { lost.increment(by: losses) }
    }

    private func countRejection(_ reason: Rejection.Reason) {
        let counter = rejections.withLock { counters in
            if let known = counters[reason] { return known }
            let dimensions = [("reason", reason.rawValue)]
            let new = Counter(label: "carillon_rejections_total", dimensions: dimensions, factory: factory)
            counters[reason] = new
            return new
        }
        counter.increment()
    }

    /// What is looked up when somebody reads the metrics.
    func sample(connectedDevices: Int, pendingStores: Int) {
        devices.set(connectedDevices)
        self.pendingStores.set(pendingStores)
    }
}

import CoreMetrics
import Metrics

/// What a client counts (swift-metrics). Where no backend is installed it costs next to nothing.
struct ProviderMetrics: Sendable {
    /// Notifications that the service took.
    let accepted: Counter
    /// Notifications that it refused, for good.
    let rejected: Counter
    /// Notifications without an answer.
    let failed: Counter
    /// Notifications that were sent again.
    let retried: Counter
    /// Connections, those that are being opened included.
    let connections: Recorder
    /// From the call, or from its being taken from a sequence, to the outcome of a notification.
    let duration: Timer

    init(factory: any MetricsFactory = MetricsSystem.factory) {
        accepted = Counter(label: "apns_provider_accepted_total", dimensions: [], factory: factory)
        rejected = Counter(label: "apns_provider_rejected_total", dimensions: [], factory: factory)
        failed = Counter(label: "apns_provider_failed_total", dimensions: [], factory: factory)
        retried = Counter(label: "apns_provider_retried_total", dimensions: [], factory: factory)
        connections = Recorder(
            label: "apns_provider_connections", dimensions: [], aggregate: false, factory: factory)
        duration = Timer(label: "apns_provider_send_seconds", dimensions: [], factory: factory)
    }

    func count(_ answer: Ticket.Answer) {
        switch answer {
        case .success(let answer): answer.status == 200 ? accepted.increment() : rejected.increment()
        case .failure: failed.increment()
        }
    }
}

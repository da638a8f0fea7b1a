import CoreMetrics
import Metrics

/// The client's metrics (swift-metrics). If no backend is installed, they cost next to nothing.
struct ProviderMetrics: Sendable {
    /// Notifications that the service accepted.
    let accepted: Counter
    /// Notifications that the service refused and that are not sent again.
    let rejected: Counter
    /// Notifications without an answer.
    let failed: Counter
    /// Notifications that were sent again.
    let retried: Counter
    /// Open connections, including those that are being opened.
    let connections: Recorder
    /// The time from the call to the notification's outcome. In a bulk call it begins when the notification is taken
    /// from the source.
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
        case .success(let answer): answer.isSuccess ? accepted.increment() : rejected.increment()
        case .failure: failed.increment()
        }
    }
}

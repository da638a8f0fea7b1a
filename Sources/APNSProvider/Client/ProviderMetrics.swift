import Metrics

/// What a client counts (swift-metrics). Where no backend is installed it costs next to nothing.
struct ProviderMetrics: Sendable {
    /// Notifications that the service took.
    let accepted = Counter(label: "apns_provider_accepted_total")
    /// Notifications that it refused, for good.
    let rejected = Counter(label: "apns_provider_rejected_total")
    /// Notifications without an answer.
    let failed = Counter(label: "apns_provider_failed_total")
    /// Notifications that were sent again.
    let retried = Counter(label: "apns_provider_retried_total")
    /// Connections, those that are being opened included.
    let connections = Gauge(label: "apns_provider_connections")
    /// From the call to the outcome, one notification each.
    let duration = Timer(label: "apns_provider_send_seconds")

    func count(_ answer: Ticket.Answer) {
        switch answer {
        case .success(let answer): answer.status == 200 ? accepted.increment() : rejected.increment()
        case .failure: failed.increment()
        }
    }
}

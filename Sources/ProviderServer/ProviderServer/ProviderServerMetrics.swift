import CoreMetrics
import CampaignStore

/// Counts through swift-metrics. docs/provider-server.md lists the same names.
package enum ProviderServerMetrics {
    /// What each metric is, for Prometheus' `# HELP`.
    package static let help = [
        "carillon_provider_outcomes_total": "Outcomes on the disk, by app; accepted, or the reason.",
        "carillon_provider_messages_running": "Messages that are being sent.",
        "carillon_provider_hook_attempts_total": "Attempts to send an event to a hook.",
        "carillon_provider_malformed_requests_total": "Requests that broke a rule of HTTP.",
        "apns_provider_accepted_total": "Notifications that the service accepted.",
        "apns_provider_rejected_total": "Notifications that the service refused and that are not sent again.",
        "apns_provider_failed_total": "Notifications without an answer.",
        "apns_provider_retried_total": "Notifications that were sent again.",
        "apns_provider_connections": "Open connections to the service, including those that are being opened.",
        "apns_provider_send_seconds": "Time from the call that sends a notification to its outcome.",
    ]

    /// Makes the metrics that belong to no app, before there is an app: a monitoring system cannot watch the rate of a
    /// counter that does not exist yet.
    static func begin() {
        setRunning(0)
        countMalformed(0)
        for isDelivered in [true, false] { hookAttempts(isDelivered).increment(by: 0) }
        // The names of `APNSProvider`, whose clients begin with the first app.
        for name in ["accepted", "rejected", "failed", "retried"] {
            Counter(label: "apns_provider_\(name)_total").increment(by: 0)
        }
        Gauge(label: "apns_provider_connections").record(0)
        _ = Timer(label: "apns_provider_send_seconds")
    }

    /// Counts outcomes when they are on the disk. The label is `accepted`, or the reason up to its colon.
    static func count(_ outcomes: [SendOutcome], bundleID: String) {
        var counts: [String: Int] = [:]
        for outcome in outcomes {
            let reason = outcome.reason.map { String($0.prefix { $0 != ":" }) } ?? "accepted"
            counts[reason, default: 0] += 1
        }
        for (reason, count) in counts {
            Counter(label: "carillon_provider_outcomes_total", dimensions: [("app", bundleID), ("outcome", reason)])
                .increment(by: count)
        }
    }

    static func setRunning(_ count: Int) { Gauge(label: "carillon_provider_messages_running").record(count) }

    static func countMalformed(_ count: Int) {
        Counter(label: "carillon_provider_malformed_requests_total").increment(by: count)
    }

    static func countHook(isDelivered: Bool) {
        hookAttempts(isDelivered).increment()
    }

    private static func hookAttempts(_ isDelivered: Bool) -> Counter {
        Counter(
            label: "carillon_provider_hook_attempts_total",
            dimensions: [("outcome", isDelivered ? "delivered" : "failed")])
    }
}

import CoreMetrics
import CampaignStore

/// Counts through swift-metrics. docs/provider-server.md lists the same names.
enum ProviderServerMetrics {
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

    static func countHook(isDelivered: Bool) {
        Counter(
            label: "carillon_provider_hook_attempts_total",
            dimensions: [("outcome", isDelivered ? "delivered" : "failed")]
        ).increment()
    }
}

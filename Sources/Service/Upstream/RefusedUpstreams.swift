import Delivery
import Notifications
import Synchronization

/// The upstreams that refuse the gateway's own key or certificate, as this node has seen it when it sent held notifications.
///
/// An attempt every second would only fill the log. But with another key the next one comes at once.
final class RefusedUpstreams: Sendable {
    private struct Refusal {
        let upstream: AppUpstream
        let moment: Uptime
    }

    private let refusals = Mutex<[UpstreamPlace: Refusal]>([:])

    func refused(_ upstream: AppUpstream, at now: Uptime) {
        refusals.withLock { $0[upstream.place] = Refusal(upstream: upstream, moment: now) }
    }

    /// Whether to send something held now.
    func mayTry(_ upstream: AppUpstream, at now: Uptime) -> Bool {
        refusals.withLock { refusals in
            guard let refusal = refusals[upstream.place] else { return true }
            if refusal.upstream == upstream, now < refusal.moment.advanced(by: HeldLimits.refusedTime) { return false }
            refusals[upstream.place] = nil
            return true
        }
    }
}

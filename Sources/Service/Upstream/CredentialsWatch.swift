import CoreMetrics
import Delivery
import Logging
import Notifications
import Synchronization

/// Watches whether an app's upstream accepts the gateway's own key or certificate. If it does not, nothing of the app arrives
/// any more, and only the publisher can change that: so it is in the log, the metrics and the management API.
final class CredentialsWatch: Sendable {
    private struct State {
        var standing = CredentialsStanding()
        /// Whether the app has got other credentials or another upstream.
        var isOver = false
    }

    private let place: UpstreamPlace
    private let meter: Meter
    private let logger: Logger
    private let now: @Sendable () -> Timestamp
    private let state = Mutex(State())
    /// Whether there is a refusal. It is outside the lock, because each answer reads it.
    private let isRefused = Atomic(false)

    init(_ place: UpstreamPlace, _ meter: Meter, logger: Logger, now: @escaping @Sendable () -> Timestamp) {
        self.place = place
        self.meter = meter
        self.logger = logger
        self.now = now
        meter.set(0)
    }

    var refusal: CredentialsRefusal? { state.withLock { $0.standing.refusal } }

    func answered(_ answer: ForwardingAnswer) {
        guard case .answered(let answer) = answer else { return }
        if answer.refusesGateway {
            refused(answer)
        } else if isRefused.load(ordering: .relaxed),
            RejectionSubject(reason: answer.reason, status: answer.status) == .notification
        {
            accepted()
        }
    }

    /// Ends the watch. Later answers are to credentials that are not used any more.
    func end() {
        state.withLock { state in
            state = State()
            state.isOver = true
            meter.set(0)
        }
    }

    private func refused(_ answer: UpstreamAnswer) {
        let reason = answer.reason ?? ""
        let isToLog = state.withLock { state in
            guard !state.isOver else { return false }
            isRefused.store(true, ordering: .relaxed)
            meter.set(1)
            return state.standing.refused(reason, at: now())
        }
        guard isToLog else { return }
        logger.error(
            "The upstream refuses the gateway's own key or certificate: nothing is delivered until it is replaced",
            metadata: [
                "app": "\(place.bundleID)", "environment": "\(place.environment.rawValue)", "reason": "\(reason)",
                "detail": "\(answer.detail ?? "")",
            ])
    }

    private func accepted() {
        let isToLog = state.withLock { state in
            guard !state.isOver else { return false }
            isRefused.store(false, ordering: .relaxed)
            meter.set(0)
            return state.standing.accepted()
        }
        guard isToLog else { return }
        logger.notice(
            "The upstream accepts the gateway's key or certificate again",
            metadata: ["app": "\(place.bundleID)", "environment": "\(place.environment.rawValue)"])
    }
}

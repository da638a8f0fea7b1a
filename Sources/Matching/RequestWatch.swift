package import Notifications
import Synchronization

/// Sees the requests of providers between the gateway's decision and its answer: the journal and rehearsals. There is one in
/// the development environment only.
package protocol RequestObserver: Sendable {
    /// A provider's connection has passed its handshake, and has no number yet.
    /// - Returns: whether a rehearsal refuses it: it is closed.
    func refuses(_ environment: Environment, _ interface: ProviderInterface) -> Bool

    /// A provider's connection has passed its handshake.
    /// - Returns: its number.
    func connectionOpened() -> UInt64

    /// A connection ended without a request.
    func connectionUnused(_ connection: UnusedConnection)

    /// The gateway has decided about a request: it is rejected, or good and about to be handed to `Delivery`. Called on
    /// the connection's event loop, before anything is answered.
    func decided(_ facts: RequestFacts) -> RequestDecision

    /// A rehearsal's rule fires for a request.
    func rehearsed(_ number: UInt64, rule: String, _ fault: RequestFault)

    /// The answer of a request was written.
    func answered(_ number: UInt64, _ answer: RequestAnswer)

    /// No answer comes: the client is gone, or a rehearsal wants it so.
    /// - Parameter isDiscarded: whether the notification counts for nothing, because one before it on a connection of the
    ///   binary API was faulty (Guide, 3.1.2).
    func unanswered(_ number: UInt64, isDiscarded: Bool)
}

extension RequestObserver {
    package func refuses(_ environment: Environment, _ interface: ProviderInterface) -> Bool { false }
    package func rehearsed(_ number: UInt64, rule: String, _ fault: RequestFault) {}
    package func connectionUnused(_ connection: UnusedConnection) {}
}

/// What to do with a request after the gateway's decision.
package enum RequestDecision: Sendable {
    /// The gateway carries out its own decision.
    /// - Parameter number: the request's.
    case proceed(number: UInt64)
    /// A rehearsal's fault is carried out.
    case misbehave(number: UInt64, RequestFault)

    package var number: UInt64 {
        switch self {
        case .proceed(let number), .misbehave(let number, _): number
        }
    }
}

/// The answer that a provider got.
package struct RequestAnswer: Sendable, Hashable {
    /// As in ``RequestFacts/status``.
    package var status: Int
    package var reason: String?

    package init(status: Int, reason: String? = nil) {
        self.status = status
        self.reason = reason
    }

    package init(_ rejection: Rejection) {
        self.init(status: rejection.reason.status, reason: rejection.reason.rawValue)
    }
}

/// The gateways' side of the observer. While nobody observes, a request costs one load and one branch, and nothing of it
/// is kept.
package final class RequestWatch: Sendable {
    package let observer: any RequestObserver
    private let needs = Atomic<UInt8>(0)

    /// The observers of requests.
    package enum Need: UInt8, Sendable {
        case journal = 1
        case rehearsals = 2
    }

    package init(_ observer: any RequestObserver) { self.observer = observer }

    /// Whether requests are observed now.
    package var isActive: Bool { needs.load(ordering: .relaxed) != 0 }

    /// From the next request of each connection on.
    package func set(_ need: Need, _ isActive: Bool) {
        if isActive {
            needs.bitwiseOr(need.rawValue, ordering: .relaxed)
        } else {
            needs.bitwiseAnd(~need.rawValue, ordering: .relaxed)
        }
    }
}

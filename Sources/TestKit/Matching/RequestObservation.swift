package import Notifications
import Synchronization

/// Observes the requests of providers, after the provider API's decision and before the answer. The journal and rehearsals
/// do so, in the development environment only.
package protocol RequestObserver: Sendable {
    /// Called when the first message of a provider's TLS handshake has come.
    /// - Parameter connection: the connection. The observer gives it its number, and a rehearsal its fault.
    func connecting(_ connection: inout ConnectionFacts)

    /// Called after ``connecting(_:)``, when the handshake has ended, and once more if the connection failed right after
    /// it: see ``HandshakeResult/isAfterHandshake``.
    func handshakeEnded(_ connection: ConnectionFacts, _ result: HandshakeResult)

    /// Called after a provider's connection has finished its handshake, before it has a number.
    /// - Returns: whether a rehearsal refuses the connection. The provider API then closes it.
    func refuses(_ environment: Environment, _ interface: ProviderInterface) -> Bool

    /// Called after a provider's connection has finished its handshake and was not refused, if ``connecting(_:)`` was not
    /// called for it.
    /// - Returns: the connection's number.
    func connectionOpened() -> UInt64

    /// Called when a connection has ended without a request.
    func connectionUnused(_ connection: UnusedConnection)

    /// Called when a connection has ended on which some requests were not processed, because they came too late.
    func unprocessed(_ requests: UnprocessedRequests)

    /// Called when the provider API has decided to reject a request or to pass it on to `Delivery`, before it does so. The
    /// call is on the connection's event loop.
    func decided(_ facts: RequestFacts) -> RequestDecision

    /// Called when a rehearsal's rule fires for a request.
    func ruleFired(_ number: UInt64, rule: String, _ fault: RequestFault)

    /// Called when the answer of a request was written.
    func answered(_ number: UInt64, _ answer: RequestAnswer)

    /// Called when the outcome of a broadcast is known, which the delivery log does not have for each device.
    func ended(_ number: UInt64, as outcome: RequestOutcome)

    /// Called when a channel was created, with its identifier.
    func created(_ number: UInt64, channel: ChannelID)

    /// Called when an upstream's answer differs from what this service would have answered.
    /// - Parameter own: the reason that this service would have given, or "accepted".
    func compared(_ number: UInt64, own: String)

    /// Called when a notification is kept for a release by a person, and not forwarded.
    func captured(_ number: UInt64)

    /// Called when a request gets no answer, because the client is gone or because of a rehearsal.
    /// - Parameter isDiscarded: whether the notification is discarded, because a rehearsal has closed the connection, or
    ///   because an earlier one on the same connection of the binary API was faulty (Guide, 3.1.2).
    func unanswered(_ number: UInt64, isDiscarded: Bool)
}

extension RequestObserver {
    package func connecting(_ connection: inout ConnectionFacts) {}
    package func handshakeEnded(_ connection: ConnectionFacts, _ result: HandshakeResult) {}
    package func refuses(_ environment: Environment, _ interface: ProviderInterface) -> Bool { false }
    package func ruleFired(_ number: UInt64, rule: String, _ fault: RequestFault) {}
    package func connectionUnused(_ connection: UnusedConnection) {}
    package func unprocessed(_ requests: UnprocessedRequests) {}
    package func ended(_ number: UInt64, as outcome: RequestOutcome) {}
    package func captured(_ number: UInt64) {}
    package func compared(_ number: UInt64, own: String) {}
    package func created(_ number: UInt64, channel: ChannelID) {}
}

/// What to do with a request after the provider API's decision.
package enum RequestDecision: Sendable {
    /// Carry out the provider API's own decision.
    /// - Parameter number: the request's number.
    case proceed(number: UInt64)
    /// Carry out a rehearsal's fault.
    case misbehave(number: UInt64, RequestFault)

    package var number: UInt64 {
        switch self {
        case .proceed(let number), .misbehave(let number, _): number
        }
    }
}

/// The answer that a provider gets, and what the API knows with it.
package struct RequestAnswer: Sendable, Hashable {
    /// The status, in the form of ``RequestFacts/status``.
    package var status: Int
    package var reason: String?
    /// The outcome of a broadcast, which the delivery log does not have for each device.
    package var outcome: RequestOutcome?
    /// The channel that was created.
    package var channel: ChannelID?
    /// What this service would have answered, a reason or `accepted`, if the upstream's answer differs from it.
    package var own: String?
    /// Whether the notification is kept for a release by a person, and not forwarded.
    package var isCaptured = false
    /// Whether the notification was accepted, and a rehearsal answers otherwise.
    package var hidesAcceptance = false

    /// Whether it is an acceptance. That of Web Push is 201.
    package var isSuccess: Bool { (200..<300).contains(status) }

    package init(status: Int, reason: String? = nil) {
        self.status = status
        self.reason = reason
    }

    package init(_ rejection: Rejection) {
        self.init(status: rejection.reason.status, reason: rejection.reason.rawValue)
    }
}

/// Connects the provider APIs to the observer. While nobody observes, each request costs only one load and one branch.
package final class RequestObservation: Sendable {
    package let observer: any RequestObserver
    private let needs = Atomic<UInt8>(0)

    /// Who needs to observe requests.
    package enum Need: UInt8, Sendable {
        case journal = 1
        case rehearsals = 2
    }

    package init(_ observer: any RequestObserver) { self.observer = observer }

    /// Whether requests are observed now.
    package var isActive: Bool { needs.load(ordering: .relaxed) != 0 }

    /// Switches observing on or off for one need. It takes effect with the next request of each connection.
    package func set(_ need: Need, _ isActive: Bool) {
        if isActive {
            needs.bitwiseOr(need.rawValue, ordering: .relaxed)
        } else {
            needs.bitwiseAnd(~need.rawValue, ordering: .relaxed)
        }
    }
}

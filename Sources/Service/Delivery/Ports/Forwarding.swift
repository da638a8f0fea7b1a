package import Notifications
package import Storage

/// Forwards notifications to upstreams. The gateway hands a notification over after it has judged the request.
package protocol Forwarding: Sendable {
    /// Forwards notifications. Each gets one answer, at the latest after ``ForwardingLimits/answerTime``.
    ///
    /// A notification is sent again only if the upstream has certainly not processed it.
    func forward(_ pushes: [TicketedPush], to upstream: AppUpstream, answers: any ForwardingAnswers)
}

/// A notification and the sender's number for it.
package typealias TicketedPush = (ticket: UInt64, push: ForwardedPush)

/// Receives the answers to forwarded notifications; a provider's connection implements it.
package protocol ForwardingAnswers: AnyObject, Sendable {
    /// Takes the answer to the notification with this ticket, on any thread.
    /// - Returns: whether to call ``answersArrived()`` after all answers that arrived together. If it is not called then, no
    ///   later answer is handed over either.
    func add(_ answer: ForwardingAnswer, to ticket: UInt64) -> Bool

    func answersArrived()
}

extension Forwarding {
    /// Forwards one notification, and waits for its answer.
    package func forward(_ push: ForwardedPush, to upstream: AppUpstream) async -> ForwardingAnswer {
        await withCheckedContinuation { continuation in
            forward([(ticket: 0, push: push)], to: upstream, answers: AwaitedAnswer(continuation))
        }
    }
}

/// The answer to one notification, for which a task waits.
private final class AwaitedAnswer: ForwardingAnswers {
    private let continuation: CheckedContinuation<ForwardingAnswer, Never>

    init(_ continuation: CheckedContinuation<ForwardingAnswer, Never>) { self.continuation = continuation }

    func add(_ answer: ForwardingAnswer, to ticket: UInt64) -> Bool {
        continuation.resume(returning: answer)
        return false
    }

    func answersArrived() {}
}

/// A notification on its way to an upstream, with the headers as the client sent them.
package struct ForwardedPush: Sendable, Hashable {
    /// The device token of the upstream.
    package var deviceToken: [UInt8]
    package var topic: String?
    /// The client's identifier, or one that the gateway has made.
    package var id: String
    package var expiration: String?
    package var priority: String?
    package var collapseID: String?
    package var pushType: String?
    /// A JSON dictionary in UTF-8, as it came.
    package var payload: [UInt8]
    package var share: ForwardingShare
    /// The client's `authorization`, for an upstream with ``AppUpstream/Credentials/passthrough``; nil otherwise.
    package var authorization: PassedAuthorization?
    /// The value of `via` (RFC 9110, 7.6.3), with this gateway at its end.
    package var via: String
    /// Whether it was held, so that no client waits for the answer. Such a notification waits for the end of an outage, and
    /// others fail at once.
    package var isHeld = false

    package init(
        deviceToken: [UInt8],
        topic: String?,
        id: String,
        payload: [UInt8],
        share: ForwardingShare,
        via: String,
    ) {
        self.deviceToken = deviceToken
        self.topic = topic
        self.id = id
        self.payload = payload
        self.share = share
        self.via = via
    }
}

/// A provider token that goes on as it came. Each key has connections of its own, because an upstream accepts only
/// related keys on one connection.
package struct PassedAuthorization: Sendable, Hashable {
    package let team: TeamID
    package let key: KeyID
    /// The value of the header.
    package let value: String

    package init(team: TeamID, key: KeyID, value: String) {
        self.team = team
        self.key = key
        self.value = value
    }
}

/// Who a forwarded notification is from: a team, or a grant. All have the same share of an upstream's streams when there are
/// not enough for everything.
package struct ForwardingShare: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package init(_ team: TeamID) { rawValue = "team " + team.rawValue }

    package init(_ grant: GrantID) { rawValue = grant.rawValue }
}

/// How forwarding a notification ended.
package enum ForwardingAnswer: Sendable, Hashable {
    case answered(UpstreamAnswer)
    /// The upstream has no valid answer: it cannot be reached, closed the connection, or is not a push service.
    /// - Parameter mayHaveBeenTaken: whether the upstream may have accepted the notification all the same. The cause
    ///   says it too.
    case failed(String, mayHaveBeenTaken: Bool)

    /// Whether the notification may have reached the upstream. Only then the delivery log says that it was forwarded.
    package var mayHaveReachedUpstream: Bool {
        switch self {
        case .answered: true
        case .failed(_, let mayHaveBeenTaken): mayHaveBeenTaken
        }
    }

    /// What the delivery log says of this attempt, in this order (docs/delivery-log.md).
    /// - Parameters:
    ///   - own: what this service would have answered, if that was compared and differs.
    ///   - refusal: the last step if there is no answer; nil if another step follows or the notification is sent again.
    package func steps(own: String? = nil, refusal: Rejection.Reason?) -> [DeliveryStep] {
        var steps: [DeliveryStep] = mayHaveReachedUpstream ? [.forwarded] : []
        switch self {
        case .answered(let told):
            steps.append(.answered(status: UInt16(clamping: told.status), reason: told.reason, own: own))
        case .failed:
            if let refusal { steps.append(.rejected(refusal)) }
        }
        return steps
    }
}

/// The answer of an upstream, with the values of the response (Guide, Tables 8-3 to 8-5).
package struct UpstreamAnswer: Sendable, Hashable {
    package var status: Int
    package var apnsID: String?
    package var uniqueID: String?
    package var reason: String?
    /// In milliseconds since 1970.
    package var timestamp: UInt64?
    package var detail: String?
    /// The value of `retry-after`, in seconds.
    package var retryAfter: Int?

    package init(status: Int, reason: String? = nil) {
        self.status = status
        self.reason = reason
    }

    /// Whether the upstream refuses the gateway's own key or certificate. A grant can do nothing about that, so it is told
    /// that the gateway is in trouble.
    package var refusesGateway: Bool {
        reason.flatMap(Rejection.Reason.init(rawValue:)).map { $0.isOfCredentials } ?? false
    }
}

/// Notifications that are not forwarded, but kept until a person releases them (docs/gateway.md).
package protocol CapturedPushes: Sendable {
    /// Keeps a notification.
    /// - Parameter number: the request's number in the journal; nil if it has none yet.
    /// - Throws: ``StoreError`` if it cannot be written.
    func keep(_ push: ForwardedPush, of place: UpstreamPlace, number: UInt64?) async throws(StoreError)
}

package enum ForwardingLimits {
    /// The time within which an upstream has to answer. Providers wait longer than this for an answer, so they learn that
    /// the upstream is late instead of giving up.
    package static let answerTime = Duration.seconds(10)
    /// The largest number of gateways that a request may have passed. A chain of two is known to be useful; a longer one is
    /// more likely a loop over services that do not name themselves.
    package static let hops = 4
    /// The largest number of notifications that wait for one upstream on a node. With payloads of 4 KB they take 40 MB.
    package static let waiting = 10_000
    /// The longest time for which a notification is held: that of ``Expiration`` without a date. In milliseconds.
    package static let hold: UInt64 = 30 * 24 * 3_600_000
}

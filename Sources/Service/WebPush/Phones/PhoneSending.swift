package import Delivery
package import Notifications
import Rates

/// Sends messages of Web Push to phones behind an upstream.
package protocol PhoneSending: Sendable {
    /// Makes the notification of a message and waits for the upstream's answer to it.
    /// - Parameters:
    ///   - ttl: seconds, as the sender has given it.
    ///   - extra: the last part of a relay's URL; nil for an endpoint.
    ///   - id: the notification's, which the journal and the delivery log have.
    func send(
        _ message: WebPushMessage, _ id: NotificationID, ttl: UInt64, extra: String?, to phone: Phone
    ) async -> PhoneOutcome

    /// Logs a message whose sender is told 503 before it was sent, each kind of trouble of a place at intervals only.
    func report(_ trouble: PhoneTrouble, _ cause: String, of place: UpstreamPlace)
}

/// Why a sender is told 503. Nothing of it is the sender's, so only the log tells those who can mend it.
package enum PhoneTrouble: Sendable, Hashable {
    case noUpstream
    case noAnswer
    case refused
    case tooLarge
    case notKept
    case grantLimit
    case unreadableToken
}

/// Where a message goes that is sent through an upstream.
package struct Phone: Sendable {
    package var deviceToken: [UInt8]
    package var app: App
    package var environment: Environment
    package var share: ForwardingShare
    /// The subscription's name.
    package var subscription: String
    /// 32 bytes that stand for the subscription: the digest of the endpoint.
    package var owner: [UInt8]
    /// The largest payload of a notification, in bytes.
    package var payloadBytes: Int

    package init(
        deviceToken: [UInt8], app: App, environment: Environment, share: ForwardingShare, subscription: String,
        owner: [UInt8], payloadBytes: Int = Payload.maximumBytes,
    ) {
        self.deviceToken = deviceToken
        self.app = app
        self.environment = environment
        self.share = share
        self.subscription = subscription
        self.owner = owner
        self.payloadBytes = payloadBytes
    }
}

/// What became of a message to a phone.
package enum PhoneOutcome: Sendable, Hashable {
    /// The upstream has answered 200.
    case accepted
    /// The upstream does not know the device token, so the subscription is gone: 404.
    /// - Parameter end: nil if the device token may be right all the same, because a wrong setting causes the same answer.
    case gone(String, HandleEnd?)
    /// The upstream takes no more at present: 429. Seconds.
    case busy(retryAfter: Int?)
    /// Everything else: 503.
    /// - Parameter retryAfter: seconds, if the upstream says so.
    case unavailable(String, retryAfter: Int? = nil)

    /// Why the message was not taken; nil if it was.
    var refusal: PhoneRefusal? {
        switch self {
        case .accepted: nil
        case .gone(let detail, _): .gone(detail)
        case .busy(let retryAfter):
            .busy(
                "The upstream takes no more messages for this phone at present.",
                retryAfter: WebPushLimits.passed(retryAfter) ?? WebPushLimits.retryAfterBusy, limit: nil)
        case .unavailable(let detail, let retryAfter):
            .unavailable(detail, retryAfter: WebPushLimits.passed(retryAfter))
        }
    }
}

/// Why a message to a phone was not taken. Senders forget a subscription at nearly any 4xx, so all that is not theirs is 503.
enum PhoneRefusal: Error, Sendable, Hashable {
    /// 404: the subscription is gone.
    case gone(String)
    /// 429.
    /// - Parameter limit: nil if it is not a limit of this service.
    case busy(String, retryAfter: Int, limit: Limit?)
    /// 503.
    case unavailable(String, retryAfter: Int? = nil)

    /// The reason under which the answers of a grant are counted.
    var reason: Rejection.Reason {
        switch self {
        case .gone: .unregistered
        case .busy: .tooManyRequests
        case .unavailable: .serviceUnavailable
        }
    }
}

extension WebPushMessage.Urgency {
    /// The priority of the notification for an upstream, which has no `normal` between 5 and 10.
    var upstreamPriority: Priority {
        switch self {
        case .veryLow, .low: .considerate
        case .normal, .high: .immediate
        }
    }
}

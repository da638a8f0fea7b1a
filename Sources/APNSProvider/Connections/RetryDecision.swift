import Connections
import NIOCore
import Notifications

/// What becomes of a request that has ended: the table of reasons decides (Guide, Table 8-6).
enum RetryDecision: Hashable {
    /// The caller gets what came of it.
    case finish
    /// It goes to another connection at once: it was not looked at on this one (RFC 9113, 6.8).
    case elsewhere
    /// It is sent again then.
    case again(at: NIODeadline)
    /// It is sent again as soon as there is a new provider token.
    case withNewToken

    /// How a request ended.
    enum Ending: Hashable {
        case answered(PushAnswer)
        /// The service said with GOAWAY that it did not process it.
        case unprocessed
        /// The service refused the stream: it did not process it (RFC 9113, 8.7).
        case refused
        /// It may have been processed.
        case unknown
    }

    /// What the caller allows.
    struct Allowance: Hashable {
        var deadline: NIODeadline
        /// Whether a refusal is looked at at all, or told as it is.
        var retriesRejections: Bool
        /// How often it was sent.
        var attempts: Int
        /// How often a new provider token was made for it.
        var renewals: Int
    }

    /// - Parameter random: from 0 to 1.
    init(after ending: Ending, _ allowance: Allowance, at now: NIODeadline, random: Double) {
        switch ending {
        case .unknown:
            // "Nothing else is": it may have been delivered.
            self = .finish
        case .unprocessed:
            self = now < allowance.deadline ? .elsewhere : .finish
        case .refused:
            self = Self.later(allowance, at: now, random: random)
        case .answered(let answer):
            guard answer.status != 200, allowance.retriesRejections else {
                self = .finish
                return
            }
            switch PushRejection(answer).advice {
            case .retryLater, .reconnect:
                self = Self.later(allowance, at: now, random: random)
            case .renewProviderToken:
                // A second new token would fare no better.
                self = allowance.renewals == 0 ? .withNewToken : .finish
            case .mendRequest, .forgetDeviceToken, .mendCredentials:
                self = .finish
            }
        }
    }

    private static func later(_ allowance: Allowance, at now: NIODeadline, random: Double) -> RetryDecision {
        let due = now + GrowingDelay.sending.delay(afterFailures: allowance.attempts, random: random)
        return due < allowance.deadline ? .again(at: due) : .finish
    }
}

/// What an answer says of the provider token that its request carried.
enum TokenVerdict: Hashable {
    case accepted
    case refused
    /// The token's key is not related to the one that the connection began with: another connection may take it.
    case unrelated
    /// The service may have refused the request before it looked at the token.
    case unknown

    init(_ answer: PushAnswer) {
        switch answer.status {
        case 200, 410, 429:
            self = .accepted
        case 403:
            switch answer.reason.flatMap(Rejection.Reason.init(rawValue:)) {
            case .expiredProviderToken, .invalidProviderToken, .missingProviderToken: self = .refused
            case .unrelatedKeyIDInToken: self = .unrelated
            default: self = .unknown
            }
        default:
            self = .unknown
        }
    }
}

extension GrowingDelay {
    /// Sending a notification again: first within a second, then ever later.
    static let sending = GrowingDelay(first: .milliseconds(800), longest: .seconds(60))
}

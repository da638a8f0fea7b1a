import Connections
import NIOCore
import Notifications

/// Decides what to do with a request that has ended, by the table of reasons (Guide, Table 8-6).
enum RetryDecision: Hashable {
    /// Give the result to the caller.
    case finish
    /// Send it on another connection at once, because this one did not process it (RFC 9113, 6.8).
    case elsewhere
    /// Send it again at this time.
    case again(at: NIODeadline)
    /// Send it again as soon as there is a new provider token.
    case withNewToken

    /// How a request ended.
    enum Ending: Hashable {
        case answered(PushAnswer)
        /// The service said with GOAWAY that it did not process the request.
        case unprocessed
        /// The service refused the stream, so it did not process the request (RFC 9113, 8.7).
        case refused
        /// The service may have processed the request.
        case unknown
    }

    /// The limits that the caller sets, and what has been tried.
    struct Allowance: Hashable {
        var deadline: NIODeadline
        /// Whether a rejected request may be sent again. If false, the caller gets the rejection unchanged.
        var retriesRejections: Bool
        /// Whether the request may be sent again with a new provider token even so.
        var renewsTokens = false
        /// The number of times that the request was sent.
        var attempts: Int
        /// The number of times that a new provider token was made for the request.
        var renewals: Int
    }

    /// Decides.
    /// - Parameter random: from 0 to 1.
    init(after ending: Ending, _ allowance: Allowance, at now: NIODeadline, random: Double) {
        switch ending {
        case .unknown:
            // The request may have been delivered, so it is not sent again.
            self = .finish
        case .unprocessed:
            self = now < allowance.deadline ? .elsewhere : .finish
        case .refused:
            self = Self.later(allowance, at: now, random: random)
        case .answered(let answer):
            guard !answer.isSuccess, allowance.retriesRejections || allowance.renewsTokens else {
                self = .finish
                return
            }
            switch PushRejection(answer).advice {
            case .retryLater where !allowance.retriesRejections, .reconnect where !allowance.retriesRejections:
                self = .finish
            case .retryLater, .reconnect:
                // A gateway may say how long its limit lasts.
                self = Self.later(allowance, at: now, random: random, after: answer.retryAfter ?? 0)
            case .renewProviderToken:
                // After one new token, another one would not help.
                self = allowance.renewals == 0 ? .withNewToken : .finish
            case .fixRequest, .forgetDeviceToken, .fixCredentials:
                self = .finish
            }
        }
    }

    /// - Parameter seconds: the shortest delay that the service asks for.
    private static func later(
        _ allowance: Allowance,
        at now: NIODeadline,
        random: Double,
        after seconds: Int = 0,
    ) -> RetryDecision {
        let asked = TimeAmount(bounding: .seconds(seconds))
        let due = now + max(asked, GrowingDelay.sending.delay(afterFailures: allowance.attempts, random: random))
        return due < allowance.deadline ? .again(at: due) : .finish
    }
}

/// What an answer says about the request's provider token.
enum TokenVerdict: Hashable {
    case accepted
    case refused
    /// The token's key is not related to the connection's first key. Another connection may accept it.
    case unrelated
    /// The service may have refused the request before it looked at the token.
    case unknown

    init(_ answer: PushAnswer) {
        switch answer.status {
        case 200..<300, 410, 429:
            self = .accepted
        case 403:
            switch answer.reason.flatMap(Rejection.Reason.init(rawValue:))?.tokenJudgement {
            case .refused: self = .refused
            case .unrelated: self = .unrelated
            case .changesTooOften, .unknown, nil: self = .unknown
            }
        default:
            self = .unknown
        }
    }
}

extension GrowingDelay {
    /// The delays before a notification is sent again: the first below a second, then longer and longer.
    static let sending = GrowingDelay(first: .milliseconds(800), longest: .seconds(60))
}

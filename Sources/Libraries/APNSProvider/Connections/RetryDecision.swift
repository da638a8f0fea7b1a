import Connections
import NIOCore
import Notifications

/// Decides whether a request is sent again, by the table of reasons (Guide, Table 8-6). Nothing is sent again that the
/// service may have processed.
enum RetryDecision {
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

    /// What to do with a request that was answered.
    enum AfterAnswer: Hashable {
        /// Give the answer to the caller.
        case finish
        /// Send the request again at this time.
        case again(at: NIODeadline)
        /// Send it again as soon as there is a new provider token.
        case withNewToken

        /// - Parameter random: from 0 to 1.
        init(_ answer: PushAnswer, _ allowance: Allowance, at now: NIODeadline, random: Double) {
            self = .finish
            guard !answer.isSuccess else { return }
            switch PushRejection(answer).advice {
            case .retryLater, .reconnect:
                guard allowance.retriesRejections else { return }
                // A gateway may say how long its limit lasts.
                let pause = TimeAmount(bounding: .seconds(answer.retryAfter ?? 0))
                if let due = allowance.nextAttempt(at: now, random: random, after: pause) { self = .again(at: due) }
            case .renewProviderToken:
                // After one new token, another one would not help.
                let mayRenew = allowance.retriesRejections || allowance.renewsTokens
                if mayRenew, allowance.renewals == 0 { self = .withNewToken }
            case .fixRequest, .forgetDeviceToken, .fixCredentials: return
            }
        }
    }

    /// What to do with a request that the service did not process.
    enum AfterRefusal: Hashable {
        /// Give the error to the caller.
        case finish
        /// Send the request on another connection at once, because this one ends (RFC 9113, 6.8).
        case elsewhere
        /// Send it again at this time.
        case again(at: NIODeadline)

        /// - Parameters:
        ///   - isByGoAway: whether the service said so with GOAWAY. Otherwise it has refused the stream (RFC 9113, 8.7).
        ///   - random: from 0 to 1.
        init(isByGoAway: Bool, _ allowance: Allowance, at now: NIODeadline, random: Double) {
            if isByGoAway {
                self = now < allowance.deadline ? .elsewhere : .finish
            } else {
                self = allowance.nextAttempt(at: now, random: random).map { .again(at: $0) } ?? .finish
            }
        }
    }
}

extension RetryDecision.Allowance {
    /// Returns when the request may be sent again; nil if that is after its deadline.
    /// - Parameter pause: the shortest delay that the service asks for.
    fileprivate func nextAttempt(
        at now: NIODeadline,
        random: Double,
        after pause: TimeAmount = .zero,
    ) -> NIODeadline? {
        let due = now + max(pause, GrowingDelay.sending.delay(afterFailures: attempts, random: random))
        return due < deadline ? due : nil
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

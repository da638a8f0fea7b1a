import Notifications
import Rates
import Trust

/// How far the service trusts a provider's connection, by the certificate of its handshake and the provider tokens of
/// its requests (Guide, 2.3.3). A value that decides; ``AuthenticatingConnection`` carries the decisions out.
struct ConnectionTrust {
    /// Whether the provider has shown a certificate or a valid provider token, and no invalid token since. Then the
    /// connection may have as many open requests as the service's load allows.
    private(set) var isShown: Bool
    /// Whether the connection had more invalid tokens than an honest provider sends.
    private(set) var isSuspect = false
    private let hasCertificate: Bool
    private var failedTokens = RateBucket()

    init(hasCertificate: Bool) {
        self.hasCertificate = hasCertificate
        isShown = hasCertificate
    }

    /// What a request's sender means for its connection.
    enum Verdict {
        /// Nothing.
        case unchanged
        /// The provider token is valid: the connection belongs to its team.
        case valid(VerifiedProviderToken)
        /// The provider token is invalid.
        case invalid
        /// The connection has exceeded a limit, and may go on.
        case limitExceeded(Limit)
        /// The connection has to end, also because of the limit, if one is named.
        case ends(Rejection.Reason, Limit? = nil)
    }

    /// Judges a request's sender, after the request's headers or when a rejection became certain.
    /// - Parameters:
    ///   - hasShape: false if the request failed the shape checks. Its valid provider token then says nothing about
    ///     who uses the connection.
    ///   - limit: how many invalid tokens the connection may have.
    ///   - now: in nanoseconds.
    mutating func judge(
        _ sender: ProviderRequest.Sender,
        hasShape: Bool,
        limit: Rate,
        at now: @autoclosure () -> UInt64,
    ) -> Verdict {
        switch sender {
        case .token(let token):
            guard hasShape else { return .unchanged }
            isShown = true
            return .valid(token)
        case .rejected(let rejection):
            guard !hasCertificate else { return .ends(rejection.reason) }
            switch rejection.reason.tokenJudgement {
            case .changesTooOften: return .limitExceeded(.tokenUpdateRate)
            case .unrelated: return .unchanged
            case .refused, .unknown: break
            }
            isShown = false
            guard !failedTokens.admits(limit, at: now()) else { return .invalid }
            isSuspect = true
            return .ends(rejection.reason, .failedTokenRate)
        case .certificate, .management, .unknown, .undecided:
            return .unchanged
        }
    }
}

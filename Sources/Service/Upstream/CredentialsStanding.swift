package import Notifications

/// Whether an upstream accepts the gateway's own key or certificate, and when to log that it does not.
struct CredentialsStanding: Sendable, Hashable {
    /// How long a refusal goes on until it is logged again. It also limits how often a change is logged, if the upstream
    /// refuses only now and then.
    static let interval = Duration.seconds(600)

    /// The present refusal; nil if the last answer shows that the upstream accepts the credentials.
    private(set) var refusal: CredentialsRefusal?
    /// When a refusal was logged last.
    private var lastLogged: Timestamp?
    /// Whether the present refusal is in the log.
    private var isLogged = false

    /// Handles a refusal.
    /// - Returns: whether to log it.
    mutating func refused(_ reason: String, at now: Timestamp) -> Bool {
        refusal = CredentialsRefusal(reason: reason, since: refusal?.since ?? now)
        if let lastLogged, now < lastLogged.advanced(by: Self.interval) { return false }
        lastLogged = now
        isLogged = true
        return true
    }

    /// Handles an answer that the upstream gives to valid credentials only.
    /// - Returns: whether to log it, because the log has said that the credentials are refused.
    mutating func accepted() -> Bool {
        defer { (refusal, isLogged) = (nil, false) }
        return refusal != nil && isLogged
    }
}

/// An upstream refuses the gateway's own key or certificate.
package struct CredentialsRefusal: Sendable, Hashable {
    /// The reason of the newest answer.
    package let reason: String
    /// When the first of these answers came.
    package let since: Timestamp
}

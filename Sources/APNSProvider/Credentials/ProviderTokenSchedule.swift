/// When a new provider token is made (Guide, 2.3.1 and 2.3.3.1; current clients: at most every 20 minutes, at least
/// every 60). The clock is an argument.
enum ProviderTokenSchedule {
    /// In seconds. A token is good for an hour.
    static let life: UInt64 = 60 * 60
    /// In seconds. In the middle of what is allowed: another machine's clock may be minutes off either way.
    static let renewAfter: UInt64 = 40 * 60
    /// In seconds. The service takes a new token at most that often.
    static let leastInterval: UInt64 = 20 * 60

    enum Decision: Hashable {
        /// The stored token is the one to send.
        case use(StoredProviderToken)
        /// Make a new one.
        case make(isEarly: Bool)
        /// The service calls a token expired that was made just now because of the same complaint: a third would fare
        /// no better.
        case giveUp
    }

    /// - Parameters:
    ///   - stored: the token that all share.
    ///   - rejected: the token that the service just called expired.
    ///   - now: seconds since 1970.
    static func decide(stored: StoredProviderToken?, rejected: String?, at now: UInt64) -> Decision {
        guard let stored else { return .make(isEarly: false) }
        // A token from the future is one of a clock that was put back since.
        guard stored.issuedAt <= now else { return .make(isEarly: false) }
        let age = now - stored.issuedAt
        guard age < renewAfter else { return .make(isEarly: false) }
        guard stored.token == rejected else { return .use(stored) }
        guard age < leastInterval else { return .make(isEarly: false) }
        return stored.isEarly ? .giveUp : .make(isEarly: true)
    }

    /// Whether a connection that has this token goes on with it, while a new one is being made.
    static func isGood(_ token: StoredProviderToken, at now: UInt64) -> Bool {
        now < token.issuedAt.addingReportingOverflow(life).partialValue
    }

    /// Whether a new one is due.
    static func isDue(_ token: StoredProviderToken, at now: UInt64) -> Bool {
        now < token.issuedAt || now - token.issuedAt >= renewAfter
    }
}

/// Decides when to make a new provider token (Guide, 2.3.1 and 2.3.3.1; current clients: at most every 20 minutes,
/// at least every 60). The clock is an argument.
enum ProviderTokenSchedule {
    /// The lifetime of a provider token, in seconds. The service accepts it for an hour.
    static let life: UInt64 = 60 * 60
    /// The age at which a provider token is renewed, in seconds. It is in the middle of the allowed range, because
    /// another machine's clock may differ by minutes.
    static let renewAfter: UInt64 = 40 * 60
    /// The shortest time between two new provider tokens, in seconds. The service does not accept new ones more
    /// often.
    static let leastInterval: UInt64 = 20 * 60

    enum Decision: Hashable {
        /// Send the stored token.
        case use(StoredProviderToken)
        /// Make a new token.
        case make(isEarly: Bool)
        /// The service calls a token expired that was made just now for the same reason. A third token would not
        /// help.
        case giveUp
    }

    /// - Parameters:
    ///   - stored: the token in the store, which all clients share.
    ///   - rejected: the token that the service just called expired.
    ///   - now: seconds since 1970.
    static func decide(stored: StoredProviderToken?, rejected: String?, at now: UInt64) -> Decision {
        guard let stored else { return .make(isEarly: false) }
        // If the token is from the future, the clock was put back after it was made.
        guard stored.issuedAt <= now else { return .make(isEarly: false) }
        let age = now - stored.issuedAt
        guard age < renewAfter else { return .make(isEarly: false) }
        guard stored.token == rejected else { return .use(stored) }
        guard age < leastInterval else { return .make(isEarly: false) }
        return stored.isEarly ? .giveUp : .make(isEarly: true)
    }

    /// Whether connections may still use this token while a new one is being made.
    static func isGood(_ token: StoredProviderToken, at now: UInt64) -> Bool {
        now < token.issuedAt.addingReportingOverflow(life).partialValue
    }

    /// Whether it is time to make a new token.
    static func isDue(_ token: StoredProviderToken, at now: UInt64) -> Bool {
        now < token.issuedAt || now - token.issuedAt >= renewAfter
    }
}

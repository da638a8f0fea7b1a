import Delivery
import Notifications
import Rates
import Trust

/// The provider token and the topic that a connection remembers, because most of its requests repeat them. They
/// belong to one version of the accounts, so each change of the accounts takes effect at once.
struct ProviderMemory {
    private var accounts = AccountsSnapshot()
    private var areAccountsCurrent = true
    /// The time of this batch, in seconds since 1970.
    private var now = 0.0
    /// Whether the accounts and the time were already read for this batch.
    private var isCurrent = false
    private var authorization: [UInt8] = []
    /// Whether the newest `authorization` header that was read is ``authorization``.
    private var isNewestToken = false
    private var updates = RateBucket()
    /// The connection's first valid provider token. The connection accepts tokens of no other team, and no keys of
    /// another scope.
    private var first: VerifiedProviderToken?
    private var token: VerifiedProviderToken?
    /// Whether the upstream of an app compares its answers with this service's.
    private var hasComparison = false
    private var topicName: [UInt8] = []
    /// Whether the newest `apns-topic` header that was read is ``topicName``.
    private var isNewestTopic = false
    private var topic: AddressedTopic?
    /// Makes what the service does not know; nil if the connection may not use it.
    private let firstSight: (any FirstSight)?

    init(firstSight: (any FirstSight)? = nil) { self.firstSight = firstSight }

    /// Whether a certificate is trusted: the accounts list it, or the connection may use one of another authority.
    mutating func trusts(_ certificate: ProviderIdentity, api: ProviderAPI) -> Bool {
        certificate.foreignTeam == nil ? current(api).trusts(certificate.serial) : firstSight != nil
    }

    /// Makes the next batch read the accounts and the time again.
    mutating func endBatch() { isCurrent = false }

    /// Returns the verified token of an `authorization` header.
    /// - Parameter isRepeated: whether the request before had the same header.
    mutating func token(
        _ value: Span<UInt8>,
        isRepeated: Bool = false,
        api: ProviderAPI,
    ) throws(Rejection) -> VerifiedProviderToken {
        do throws(Rejection) {
            let verified = try verified(value, isRepeated: isRepeated && isNewestToken, api: api)
            isNewestToken = true
            return verified
        } catch {
            isNewestToken = false
            guard error.reason == .badEnvironmentKeyIDInToken else { throw error }
            throw Rejection(api.environmentKeyReason.reason, detail: error.detail)
        }
    }

    private mutating func verified(
        _ value: Span<UInt8>,
        isRepeated: Bool,
        api: ProviderAPI,
    ) throws(Rejection) -> VerifiedProviderToken {
        refresh(api)
        if let token, isRepeated || value.isEqual(to: authorization) {
            try token.check(environment: api.environment, now: now + api.clock.ahead(token.team))
            return token
        }
        let accounts = current(api)
        let verified = try api.tokens.verify(
            value, environment: api.environment, accounts: accounts, clock: api.clock, now: now,
            unknown: firstSight?.keys)
        try checkRelation(of: verified)
        // As long as the connection has no team, a new token does not count as a change.
        let isUpdate = first != nil && !ProviderTokenRules.haveSameToken(value, authorization.span)
        guard !isUpdate || updates.admits(api.limits.tokenUpdates, at: nanoseconds(verified.team, api)) else {
            let detail = "The provider token of this connection changed too recently; keep one for twenty minutes."
            throw Rejection(.tooManyProviderTokenUpdates, detail: detail)
        }
        token = verified
        authorization = value.array
        return verified
    }

    /// The time of a team's clock, in nanoseconds since 1970.
    private func nanoseconds(_ team: TeamID, _ api: ProviderAPI) -> UInt64 {
        // fits: there is room until 2554, and for an offset of ServiceClock.maximumOffset
        UInt64(max(0, now + api.clock.ahead(team)) * 1e9)
    }

    /// Refuses a key that is not related to the first one: a key for another environment or other apps
    /// (docs/current-apns.md). Another key of the same scope is a rotation and is accepted.
    private func checkRelation(of verified: VerifiedProviderToken) throws(Rejection) {
        guard let first else { return }
        guard first.team == verified.team else {
            let detail = "This connection sends for another team; one connection serves one team."
            throw Rejection(.invalidProviderToken, detail: detail)
        }
        guard first.key == verified.key || first.hasScope(of: verified) else {
            let detail =
                "The key \(verified.key) is not related to the key \(first.key) of this connection's first "
                + "notification: it is for other environments or apps. Open another connection to use it."
            throw Rejection(.unrelatedKeyIDInToken, detail: detail)
        }
    }

    /// Binds the connection to the token's team and to keys of its scope.
    mutating func bind(to token: VerifiedProviderToken) {
        if first == nil { first = token }
    }

    /// Returns the topic of an `apns-topic` header.
    /// - Parameter isRepeated: whether the request before had the same header.
    mutating func topic(
        _ value: Span<UInt8>,
        isRepeated: Bool = false,
        api: ProviderAPI,
    ) -> ProviderRequest.Field<AddressedTopic> {
        refresh(api)
        if let topic, isRepeated && isNewestTopic || value.isEqual(to: topicName) {
            isNewestTopic = true
            return .value(topic)
        }
        isNewestTopic = false
        guard !value.isEmpty else { return .absent }
        guard value.count <= BundleID.maximumTopicBytes else {
            return .bad("apns-topic is \(value.count) bytes; no topic has more than \(BundleID.maximumTopicBytes).")
        }
        let name = value.text
        guard BundleID.isTopic(name) else {
            return .bad("apns-topic is not a bundle ID, with or without suffix.")
        }
        let addressed = AddressedTopic(name: name, in: current(api))
        topic = addressed
        topicName = value.array
        isNewestTopic = true
        return .value(addressed)
    }

    /// Returns the default topic of a certificate.
    mutating func topic(_ name: String, api: ProviderAPI) -> AddressedTopic {
        isNewestTopic = false
        let snapshot = current(api)
        if let topic, topic.name.isSame(as: name) { return topic }
        let addressed = AddressedTopic(name: name, in: snapshot)
        topic = addressed
        topicName = Array(name.utf8)
        return addressed
    }

    /// The value of the last `authorization` header that was valid.
    var lastAuthorization: String { String(decoding: authorization, as: UTF8.self) }

    /// Returns whether the values of headers are kept as they come, for this batch.
    mutating func keepsTexts(_ api: ProviderAPI) -> Bool {
        refresh(api)
        return hasComparison
    }

    /// Returns the version of the accounts for this batch.
    mutating func version(_ api: ProviderAPI) -> UInt64 {
        refresh(api)
        return accounts.version
    }

    /// Returns whether the accounts can be relied on, for this batch.
    mutating func isCurrent(_ api: ProviderAPI) -> Bool {
        refresh(api)
        return areAccountsCurrent
    }

    /// Returns the accounts for this batch. Values that were remembered for older accounts are removed.
    mutating func current(_ api: ProviderAPI) -> AccountsSnapshot {
        refresh(api)
        return accounts
    }

    /// Reads the accounts and the clock once for each batch. A request that repeats the last one needs only the
    /// version of the accounts. Reading a whole snapshot would cost more, because it counts references.
    private mutating func refresh(_ api: ProviderAPI) {
        guard !isCurrent else { return }
        let newest = api.accounts.current
        if newest.version != accounts.version {
            token = nil
            topic = nil
            hasComparison = newest.upstreams.values.contains { $0.compares }
        }
        accounts = newest
        areAccountsCurrent = api.accounts.isCurrent
        now = Double(api.clock.time.milliseconds) / 1000
        isCurrent = true
    }
}

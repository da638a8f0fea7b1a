import Delivery
import Notifications
import Rates
import Trust

/// What a connection remembers from one request to the next, because most of its requests say the same: the provider
/// token and the topic. Good for one version of the accounts, so that every change takes effect at once.
struct ProviderMemory {
    private var accounts = AccountsSnapshot()
    private var areAccountsCurrent = true
    /// When this batch came, in seconds since 1970.
    private var now = 0.0
    /// Whether both are those of this batch.
    private var isCurrent = false
    private var authorization: [UInt8] = []
    private var updates = RateBucket()
    /// The connection's first good provider token. The connection serves no other team, and no key of another scope.
    private var first: VerifiedProviderToken?
    private var token: VerifiedProviderToken?
    private var topicName: [UInt8] = []
    private var topic: AddressedTopic?

    /// The next batch looks at the accounts again.
    mutating func endBatch() { isCurrent = false }

    /// The verified token of an `authorization` header.
    mutating func token(
        _ value: Span<UInt8>,
        gateway: ProviderGateway,
    ) throws(Rejection) -> VerifiedProviderToken {
        do throws(Rejection) {
            return try verified(value, gateway: gateway)
        } catch {
            guard error.reason == .badEnvironmentKeyIDInToken else { throw error }
            throw Rejection(gateway.environmentKeyReason.reason, detail: error.detail)
        }
    }

    private mutating func verified(
        _ value: Span<UInt8>,
        gateway: ProviderGateway,
    ) throws(Rejection) -> VerifiedProviderToken {
        refresh(gateway)
        if let token, value.isEqual(to: authorization) {
            try token.check(environment: gateway.environment, now: now)
            return token
        }
        let accounts = current(gateway)
        let verified = try gateway.tokens.verify(
            value, environment: gateway.environment, accounts: accounts, clock: gateway.clock, now: now)
        try checkRelation(of: verified)
        // Before the connection has a team, no request has counted.
        let isUpdate = first != nil && !ProviderTokenRules.haveSameToken(value, authorization.span)
        guard !isUpdate || updates.admits(gateway.limits.tokenUpdates, at: UInt64(max(0, now) * 1e9)) else {
            let detail = "The provider token of this connection changed too recently; keep one for twenty minutes."
            throw Rejection(.tooManyProviderTokenUpdates, detail: detail)
        }
        token = verified
        authorization = value.array
        return verified
    }

    /// Another key of the same scope is a rotation. One for another environment or for other apps is not related to the
    /// first (docs/current-apns.md).
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

    /// The connection serves the team of this token from now on, and keys of its scope.
    mutating func bind(to token: VerifiedProviderToken) {
        if first == nil { first = token }
    }

    /// What an `apns-topic` header names.
    mutating func topic(
        _ value: Span<UInt8>,
        gateway: ProviderGateway,
    ) -> ProviderRequest.Field<AddressedTopic> {
        refresh(gateway)
        if let topic, value.isEqual(to: topicName) { return .value(topic) }
        guard !value.isEmpty else { return .absent }
        guard value.count <= BundleID.maximumTopicBytes else {
            return .bad("apns-topic is \(value.count) bytes; no topic has more than \(BundleID.maximumTopicBytes).")
        }
        let name = value.text
        guard BundleID.isTopic(name) else {
            return .bad("apns-topic is not a bundle ID, with or without suffix.")
        }
        let addressed = AddressedTopic(name: name, in: current(gateway))
        topic = addressed
        topicName = value.array
        return .value(addressed)
    }

    /// What a certificate's default topic names.
    mutating func topic(_ name: String, gateway: ProviderGateway) -> AddressedTopic {
        let snapshot = current(gateway)
        if let topic, topic.name == name { return topic }
        let addressed = AddressedTopic(name: name, in: snapshot)
        topic = addressed
        topicName = Array(name.utf8)
        return addressed
    }

    /// The version of the accounts as of this batch.
    mutating func version(_ gateway: ProviderGateway) -> UInt64 {
        refresh(gateway)
        return accounts.version
    }

    /// Whether the accounts may be relied upon, as of this batch.
    mutating func isCurrent(_ gateway: ProviderGateway) -> Bool {
        refresh(gateway)
        return areAccountsCurrent
    }

    /// The accounts as of this batch. What was remembered of older ones is forgotten.
    mutating func current(_ gateway: ProviderGateway) -> AccountsSnapshot {
        refresh(gateway)
        return accounts
    }

    /// Looks at the accounts and the clock once for each batch. A request that says what the last one said goes no
    /// further: a snapshot handed out costs a reference to each of its tables.
    private mutating func refresh(_ gateway: ProviderGateway) {
        guard !isCurrent else { return }
        let newest = gateway.accounts.current
        if newest.version != accounts.version {
            token = nil
            topic = nil
        }
        accounts = newest
        areAccountsCurrent = gateway.accounts.isCurrent
        now = Double(gateway.clock.time.milliseconds) / 1000
        isCurrent = true
    }
}

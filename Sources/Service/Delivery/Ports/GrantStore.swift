package import Notifications
package import Storage

/// What the gateway keeps about grants beside the accounts: handles, what each grant has sent, and invitations to make
/// grants. Everything is read when it is needed, so that a million handles take no memory.
package protocol GrantStore: Sendable {
    // MARK: Handles

    /// Stores handles, all or none. One that exists is stored again, and then has no end any more; it keeps the time when it
    /// was made.
    /// - Parameters:
    ///   - limit: the largest number of active handles of a grant.
    ///   - code: the code that counts once; nil if none is needed.
    ///   - endpoint: an endpoint of one of the handles; nil for none. If the handle has one of this name already, that one stays
    ///     and gets the VAPID key, or none.
    /// - Returns: the endpoint that is stored.
    /// - Throws: ``StoreError/Code/conflict`` if a grant has that many others, if the code was used before, or if the handle has
    ///   ``HandleEndpoint/maximumCount`` other endpoints.
    @discardableResult
    func put(
        _ handles: [StoredHandle],
        limit: Int,
        code: UsedCode?,
        endpoint: HandleEndpoint?,
    ) async throws(StoreError) -> HandleEndpoint?

    /// Returns what is stored of a handle, if it is known without reading it; nil if it has to be read.
    func remembered(_ handle: Handle) -> StoredHandle?

    /// Returns what is stored of handles, in their order; nil for one that does not exist.
    func handles(_ handles: [Handle]) async throws(StoreError) -> [StoredHandle?]

    /// - Returns: Whether the grant had the handle.
    func remove(_ handle: Handle, of grant: GrantID) async throws(StoreError) -> Bool

    /// Remembers that the upstream no longer knows the device token of a handle, unless the app has registered it after
    /// that moment.
    func end(_ handle: Handle, _ end: HandleEnd) async throws(StoreError)

    /// The number of active handles of each grant that has any.
    /// - Parameter grant: the only one that is asked for; nil for all.
    func handleCounts(of grant: GrantID?) async throws(StoreError) -> [GrantID: Int]

    /// Whether there is any handle.
    func hasHandles() async throws(StoreError) -> Bool

    /// Removes handles of grants that were revoked or deleted, in the order of their bytes.
    /// - Parameter handle: only later ones are removed; nil for all.
    /// - Returns: the removed ones. If there are as many as the limit, there may be more after the last of them.
    func removeOrphanedHandles(after handle: Handle?, limit: Int) async throws(StoreError) -> [Handle]

    /// Ends and forgets handles, in the order of their bytes.
    /// - Parameter handle: only later ones are looked at; nil for all.
    /// - Returns: the changed ones. If there are as many as the limit, there may be more after the last of them.
    func sweep(_ sweep: HandleSweep, after handle: Handle?, limit: Int) async throws(StoreError) -> [Handle]

    /// Returns handles of a grant, in the order of their bytes. This reads the table from the first handle to the last one of
    /// the page, because there is no index by grant.
    /// - Parameters:
    ///   - isEnded: whether to return those that have ended or those that are active; nil for both.
    ///   - sweep: says which have ended, and which of them are not listed any more.
    func handles(
        of grant: GrantID,
        isEnded: Bool?,
        _ sweep: HandleSweep,
        after handle: Handle?,
        limit: Int,
    ) async throws(StoreError) -> [StoredHandle]

    /// Returns handles in the order of their bytes, for a copy of the store.
    func handles(after handle: Handle?, limit: Int) async throws(StoreError) -> [StoredHandle]

    // MARK: What was sent

    /// Adds to the numbers of a day and to the answers, in one transaction, and forgets earlier days.
    /// - Returns: The number of that day of each of these grants, of all nodes.
    func add(_ counts: [GrantCount], on day: UInt64) async throws(StoreError) -> [GrantID: UInt64]

    /// The number of a day of each grant that has sent something on it.
    /// - Parameter grant: the only one that is asked for; nil for all.
    func sent(on day: UInt64, of grant: GrantID?) async throws(StoreError) -> [GrantID: UInt64]

    /// The days of which there are numbers, the earliest first.
    func days() async throws(StoreError) -> [UInt64]

    /// How many requests of each grant were answered with each outcome: `200`, or the reason of a refusal.
    /// - Parameter grant: the only one that is asked for; nil for all.
    func answers(of grant: GrantID?) async throws(StoreError) -> [GrantID: [String: UInt64]]

    // MARK: Invitations

    /// Stores an invitation and removes expired ones.
    /// - Throws: ``StoreError/Code/conflict`` if there are ``GrantInvitation/maximumCount`` already.
    func invite(_ invitation: GrantInvitation, at moment: Timestamp) async throws(StoreError)

    /// Returns the invitations that are unused and have not expired.
    func grantInvitations(at moment: Timestamp) async throws(StoreError) -> [GrantInvitation]

    /// Removes an invitation and returns it; nil if there is none that is unused and has not expired. Of several calls
    /// for one invitation, one gets it.
    func removeGrantInvitation(_ digest: [UInt8], at moment: Timestamp) async throws(StoreError) -> GrantInvitation?

    /// Uses an invitation up for a key, if nobody has.
    /// - Parameters:
    ///   - key: SHA-256 of the grant's public key.
    ///   - grant: the grant that is about to be made.
    /// - Returns: what it was used for, by this call or an earlier one with the same key, and whether it was this one. Nil if
    ///   there is no such invitation, or it was used for another key, or it has expired.
    func useGrantInvitation(
        _ digest: [UInt8],
        for key: [UInt8],
        grant: GrantID,
        at moment: Timestamp,
    ) async throws(StoreError) -> (used: UsedGrantInvitation, isNew: Bool)?

    /// Makes an invitation unused again whose grant could not be made. Changes nothing if there is the grant.
    func restore(_ used: UsedGrantInvitation) async throws(StoreError)

    // MARK: Copying

    /// Returns used invitations in the order of their digests.
    /// - Parameter digest: the page begins after it; nil for the first page.
    func usedGrantInvitations(after digest: [UInt8]?, limit: Int) async throws(StoreError) -> [UsedGrantInvitation]

    /// Returns the used codes for registrations, in the order of their grants and digests.
    /// - Parameter code: the page begins after it; nil for the first page.
    func usedCodes(after code: UsedCode?, limit: Int) async throws(StoreError) -> [UsedCode]

    func fill(_ used: [UsedGrantInvitation]) async throws(StoreError)
    func fill(_ codes: [UsedCode]) async throws(StoreError)
}

extension GrantStore {
    package func remembered(_ handle: Handle) -> StoredHandle? { nil }

    package func put(_ handles: [StoredHandle], limit: Int) async throws(StoreError) {
        try await put(handles, limit: limit, code: nil)
    }

    package func put(_ handles: [StoredHandle], limit: Int, code: UsedCode?) async throws(StoreError) {
        try await put(handles, limit: limit, code: code, endpoint: nil)
    }

    package func handleCounts() async throws(StoreError) -> [GrantID: Int] { try await handleCounts(of: nil) }

    package func sent(on day: UInt64) async throws(StoreError) -> [GrantID: UInt64] {
        try await sent(on: day, of: nil)
    }

    package func answers() async throws(StoreError) -> [GrantID: [String: UInt64]] { try await answers(of: nil) }
}

/// A code for the registration of a handle, which counts once.
package struct UsedCode: Sendable, Hashable {
    package let grant: GrantID
    /// SHA-256 of its `jti`, 32 bytes.
    package let digest: [UInt8]
    /// When it is no longer valid in any case, by the service's clock.
    package let expires: Timestamp
    /// The service's time. It is not stored.
    package let now: Timestamp

    package init(grant: GrantID, digest: [UInt8], expires: Timestamp, now: Timestamp = Timestamp(milliseconds: 0)) {
        self.grant = grant
        self.digest = digest
        self.expires = expires
        self.now = now
    }
}

/// A handle, with the device token that it stands for.
package struct StoredHandle: Sendable, Hashable {
    package let handle: Handle
    package let grant: GrantID
    package let app: AppID
    package let environment: Environment
    /// The device token, encrypted.
    package let token: [UInt8]
    /// When the app registered the token last.
    package let registered: Timestamp
    /// When the handle was made; nil if it was never registered again, or an earlier release has made it.
    package var firstRegistered: Timestamp?
    /// Nil if the upstream knows the token, as far as the gateway knows.
    package var end: HandleEnd?

    package init(
        handle: Handle,
        grant: GrantID,
        app: AppID,
        environment: Environment,
        token: [UInt8],
        registered: Timestamp,
        firstRegistered: Timestamp? = nil,
        end: HandleEnd? = nil,
    ) {
        self.handle = handle
        self.grant = grant
        self.app = app
        self.environment = environment
        self.token = token
        self.registered = registered
        self.firstRegistered = firstRegistered
        self.end = end
    }

    /// When the handle was made.
    package var made: Timestamp { firstRegistered ?? registered }
}

/// The upstream's 410 for the device token of a handle, or that the app has not registered it for a long time.
package struct HandleEnd: Sendable, Hashable {
    package let reason: Rejection.Reason
    /// Since when the token is invalid, as the upstream says, by the service's clock.
    package let moment: Timestamp
    /// When the service has learnt of it.
    package let noted: Timestamp

    /// - Parameter noted: the same as `moment` if it is nil.
    package init(reason: Rejection.Reason, moment: Timestamp, noted: Timestamp? = nil) {
        self.reason = reason
        self.moment = moment
        self.noted = noted ?? moment
    }
}

extension HandleEnd {
    /// What an upstream's answer means for the handle: nil unless it is 410. `BadDeviceToken` is not remembered, because a wrong
    /// setting of the upstream causes it for every handle.
    /// - Parameter otherwise: since when, if the answer does not say.
    package init?(_ answer: UpstreamAnswer, otherwise: Timestamp, _ clock: ServiceClock) {
        guard answer.status == 410, let reason = answer.reason.flatMap(Rejection.Reason.init(rawValue:)) else {
            return nil
        }
        let moment = answer.timestamp.map { clock.serviceTime(ofClient: Timestamp(milliseconds: $0)) }
        self.init(reason: reason, moment: moment ?? otherwise, noted: clock.time)
    }
}

/// What a grant has sent since it was last written.
package struct GrantCount: Sendable, Hashable {
    package let grant: GrantID
    /// How many notifications count for the day.
    package let sent: UInt64
    /// How many requests were answered with each outcome.
    package let answers: [String: UInt64]

    package init(grant: GrantID, sent: UInt64, answers: [String: UInt64]) {
        self.grant = grant
        self.sent = sent
        self.answers = answers
    }
}

/// Lets an instance make its own grant, once.
package struct GrantInvitation: Sendable, Hashable {
    /// The time for which an invitation is valid: long enough for an administrator to answer a message.
    package static let life = Duration.seconds(7 * 24 * 60 * 60)
    /// The largest number of unused invitations.
    package static let maximumCount = 10_000

    /// SHA-256 of the code, 32 bytes.
    package let digest: [UInt8]
    package let bundleID: BundleID
    /// The name of the grant.
    package let name: String
    package let limits: GrantLimits
    package let expires: Timestamp

    package init(digest: [UInt8], bundleID: BundleID, name: String, limits: GrantLimits, expires: Timestamp) {
        self.digest = digest
        self.bundleID = bundleID
        self.name = name
        self.limits = limits
        self.expires = expires
    }
}

extension StoreError {
    package static let codeWasUsed = StoreError(
        .conflict, "The code was used before: every registration needs a new one.")

    package static func tooManyHandles(_ limit: Int) -> StoreError {
        StoreError(.conflict, "The grant has \(limit) handles already.")
    }

    package static let tooManyGrantInvitations = StoreError(
        .conflict,
        "\(GrantInvitation.maximumCount) invitations are unused; wait until some are used or expire.")
}

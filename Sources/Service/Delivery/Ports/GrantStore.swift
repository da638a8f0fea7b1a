package import Notifications
package import Storage

/// What the gateway keeps about grants beside the accounts: handles, what each grant has sent, and invitations to make
/// grants. Everything is read when it is needed, so that a million handles take no memory.
package protocol GrantStore: Sendable {
    // MARK: Handles

    /// Stores handles, all or none. One that exists is stored again, and then has no end any more.
    /// - Parameter limit: the largest number of handles of a grant.
    /// - Throws: ``StoreError/Code/conflict`` if a grant has that many others.
    func put(_ handles: [StoredHandle], limit: Int) async throws(StoreError)

    /// Returns what is stored of handles, in their order; nil for one that does not exist.
    func handles(_ handles: [Handle]) async throws(StoreError) -> [StoredHandle?]

    /// - Returns: Whether the grant had the handle.
    func remove(_ handle: Handle, of grant: GrantID) async throws(StoreError) -> Bool

    /// Remembers that the upstream no longer knows the device token of a handle, unless the app has registered it after
    /// that moment.
    func end(_ handle: Handle, _ end: HandleEnd) async throws(StoreError)

    /// The number of handles of each grant that has any.
    func handleCounts() async throws(StoreError) -> [GrantID: Int]

    /// Whether there is any handle.
    func hasHandles() async throws(StoreError) -> Bool

    /// Removes handles of grants that were revoked or deleted, in the order of their bytes.
    /// - Parameter handle: only later ones are removed; nil for all.
    /// - Returns: the removed ones. If there are as many as the limit, there may be more after the last of them.
    func removeOrphanedHandles(after handle: Handle?, limit: Int) async throws(StoreError) -> [Handle]

    /// Returns handles in the order of their bytes, for a copy of the store.
    func handles(after handle: Handle?, limit: Int) async throws(StoreError) -> [StoredHandle]

    // MARK: What was sent

    /// Adds to the numbers of a day and to the answers, in one transaction, and forgets earlier days.
    /// - Returns: The number of that day of each of these grants, of all nodes.
    func add(_ counts: [GrantCount], on day: UInt64) async throws(StoreError) -> [GrantID: UInt64]

    /// The number of a day of each grant that has sent something on it.
    func sent(on day: UInt64) async throws(StoreError) -> [GrantID: UInt64]

    /// The days of which there are numbers, the earliest first.
    func days() async throws(StoreError) -> [UInt64]

    /// How many requests of each grant were answered with each outcome: `200`, or the reason of a refusal.
    func answers() async throws(StoreError) -> [GrantID: [String: UInt64]]

    // MARK: Invitations

    /// Stores an invitation and removes expired ones.
    /// - Throws: ``StoreError/Code/conflict`` if there are ``GrantInvitation/maximumCount`` already.
    func invite(_ invitation: GrantInvitation, at moment: Timestamp) async throws(StoreError)

    /// Returns the invitations that are unused and have not expired.
    func grantInvitations(at moment: Timestamp) async throws(StoreError) -> [GrantInvitation]

    /// Removes an invitation and returns it; nil if there is none that is unused and has not expired. Of several calls
    /// for one invitation, one gets it.
    func removeGrantInvitation(_ digest: [UInt8], at moment: Timestamp) async throws(StoreError) -> GrantInvitation?
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
    /// Nil if the upstream knows the token, as far as the gateway knows.
    package var end: HandleEnd?

    package init(
        handle: Handle,
        grant: GrantID,
        app: AppID,
        environment: Environment,
        token: [UInt8],
        registered: Timestamp,
        end: HandleEnd? = nil,
    ) {
        self.handle = handle
        self.grant = grant
        self.app = app
        self.environment = environment
        self.token = token
        self.registered = registered
        self.end = end
    }
}

/// The upstream's 410 for the device token of a handle.
package struct HandleEnd: Sendable, Hashable {
    package let reason: Rejection.Reason
    /// Since when the token is invalid, as the upstream says.
    package let moment: Timestamp

    package init(reason: Rejection.Reason, moment: Timestamp) {
        self.reason = reason
        self.moment = moment
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
    package static func tooManyHandles(_ limit: Int) -> StoreError {
        StoreError(.conflict, "The grant has \(limit) handles already.")
    }

    package static let tooManyGrantInvitations = StoreError(
        .conflict,
        "\(GrantInvitation.maximumCount) invitations are unused; wait until some are used or expire.")
}

import Crypto
import Delivery
import Notifications
import Storage
import Trust

/// The grant that an instance makes with an invitation. If the answer is lost, the same code with the same key gets the same
/// grant, for as long as the code would have been good (decision 0093).
struct InvitedGrant: Sendable {
    let accounts: any Accounts
    let store: any GrantStore
    /// The largest number of grants.
    let limit: Int
    let now: Timestamp
    let publicKey: [UInt8]

    /// Makes the grant, or finds it.
    /// - Returns: the grant, and the identifier of its key.
    func make(
        _ digest: [UInt8]
    ) async throws(StoreError) -> Result<(Grant, KeyID), HandleRequests.Refusal> {
        var random = SystemRandomNumberGenerator()
        let key = Array(SHA256.hash(data: publicKey))
        let use = try await store.useGrantInvitation(digest, for: key, grant: .random(using: &random), at: now)
        guard let (used, isNew) = use else {
            return .failure(.rejected(Rejection(.forbidden, detail: "The code is unknown, was used or has expired.")))
        }
        if let found = Self.found(used, publicKey, accounts.current) { return found }
        let bundleID = used.invitation.bundleID
        guard let app = accounts.current.apps[bundleID] else {
            return .failure(.rejected(Rejection(.topicDisallowed, detail: "The app \(bundleID) was deleted.")))
        }
        let grant = Grant(
            id: used.grant, bundleID: app.bundleID, team: app.team, name: used.invitation.name,
            key: .random(using: &random), publicKey: publicKey, clientKey: GrantClientKey().text,
            limits: used.invitation.limits, made: now)
        do throws(StoreError) {
            _ = try await accounts.apply(.createGrant(grant, limit: limit))
            return .success((grant, grant.key))
        } catch {
            return try await failure(used, isNew: isNew, error)
        }
    }

    /// Handles that the grant was not made.
    private func failure(
        _ used: UsedGrantInvitation,
        isNew: Bool,
        _ error: StoreError,
    ) async throws(StoreError) -> Result<(Grant, KeyID), HandleRequests.Refusal> {
        guard error.code == .exists || error.code == .conflict else {
            // Whether the grant was made is not known. The next request with the same code and key finds it or makes it.
            throw error
        }
        // Another request with the same code and key may have made it on another node. A change of nothing reads what this
        // node does not know yet.
        let newest = try await accounts.apply(.removeRevokedGrants([]))
        if let found = Self.found(used, publicKey, newest) { return found }
        // The grant was not made, so the instance may try again with the same code, also with another key. Only the request
        // that has used the code up makes it good again: to a later one the grant may have been made and removed.
        if isNew { try await store.restore(used) }
        guard error.code == .exists else { return .failure(.conflict(error.cause)) }
        return .failure(.rejected(Rejection(.forbidden, detail: "This key was used before: make a new one.")))
    }

    /// The grant that an invitation was used for; nil if there is none.
    private static func found(
        _ used: UsedGrantInvitation,
        _ publicKey: [UInt8],
        _ accounts: AccountsSnapshot,
    ) -> Result<(Grant, KeyID), HandleRequests.Refusal>? {
        guard let grant = accounts.grants[used.grant] else { return nil }
        guard grant.revoked == nil, let key = grant.providerKeys.all.first(where: { $0.publicKey == publicKey }) else {
            return .failure(.rejected(Rejection(.forbidden, detail: "The grant or its key was revoked.")))
        }
        return .success((grant, key.id))
    }
}

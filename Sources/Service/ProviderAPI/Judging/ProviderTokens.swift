package import Connections
import Crypto
package import Delivery
import Notifications
import Rates
import Synchronization
package import Trust

/// Verifies the provider tokens of all connections. Each token is verified once and then remembered. It becomes
/// invalid at once if its key is revoked.
package final class ProviderTokens: Sendable {
    private let verifier: Mutex<ProviderTokenVerifier>
    private let accounts: any Accounts
    private let limitLog: LimitLog

    /// - Parameter limitLog: records when a token is forgotten because there is no room for it.
    package init(verifier: ProviderTokenVerifier, accounts: any Accounts, limitLog: LimitLog) {
        self.verifier = Mutex(verifier)
        self.accounts = accounts
        self.limitLog = limitLog
    }

    /// - Parameters:
    ///   - authorization: the value of the header of that name.
    ///   - clock: reads the token's time of issue.
    ///   - now: seconds since 1970, by the service's clock.
    ///   - unknown: the keys that nobody has created; nil to refuse their tokens.
    /// - Throws: MissingProviderToken, InvalidProviderToken, BadEnvironmentKeyIdInToken or ExpiredProviderToken.
    func verify(
        _ authorization: Span<UInt8>,
        environment: Environment,
        accounts: AccountsSnapshot,
        clock: ServiceClock,
        now: Double,
        unknown: UnknownKeys? = nil,
    ) throws(Rejection) -> VerifiedProviderToken {
        let (remembered, revision) = verifier.withLock { ($0.recall(authorization: authorization), $0.revision) }
        if let remembered, remembered.isGood(in: accounts) {
            try remembered.check(environment: environment, now: now + clock.ahead(remembered.team))
            return remembered
        }
        // Verify outside the lock, because this takes longer than everything else in a request.
        let rules = verifier.withLock { $0.rules }
        let verified = try rules.verify(
            authorization: authorization, environment: environment, now: now,
            teamTime: { clock.teamSeconds(ofClient: $0, of: $1) }, ahead: { clock.ahead($0) },
            key: { id in
                accounts.keys[id].flatMap { ProviderKey($0) }
                    ?? accounts.grant(withKey: id).flatMap { ProviderKey($0, id) }
            },
            unknown: { id in accounts.hasKey(id) ? nil : unknown })
        // A connection remembers its own. Others have to know whether they may accept it.
        guard verified.isVerified else { return verified }
        let forgotten = verifier.withLock { $0.remember(authorization: authorization, as: verified, since: revision) }
        if forgotten { limitLog.limitExceeded(.rememberedTokens) }
        return verified
    }

    /// Forgets tokens whose keys are revoked, deleted or changed, until the task is cancelled. This only frees
    /// memory: each use of a token checks its key again.
    package func run() async {
        var known: [KeyID: TeamKey] = [:]
        var grants: GrantTable?
        for await snapshot in accounts.changes() {
            for (id, key) in known where snapshot.keys[id] != key {
                verifier.withLock { $0.forget(key: id) }
            }
            known = snapshot.keys
            if let grants, grants.losses != snapshot.grants.losses {
                for grant in grants.values where grant.isActive {
                    let present = snapshot.grants[grant.id].flatMap { $0.isActive ? $0 : nil }
                    for key in grant.providerKeys.all where present?.providerKey(key.id) != key {
                        verifier.withLock { $0.forget(key: key.id) }
                    }
                }
            }
            grants = snapshot.grants
        }
    }
}

extension AccountsSnapshot {
    /// Whether a team or a grant has a key with this identifier, also one that is revoked.
    fileprivate func hasKey(_ id: KeyID) -> Bool { keys[id] != nil || grant(withKey: id) != nil }
}

extension VerifiedProviderToken {
    /// Whether the accounts still have the same key. Another key may have got the same identifier since.
    func isGood(in accounts: AccountsSnapshot) -> Bool {
        if let grant {
            guard let grant = accounts.grants[grant], grant.isActive else { return false }
            return grant.providerKey(key)?.publicKey == publicKey && grant.team == team
        }
        // Once the key is known, its tokens have to be verified.
        guard isVerified else { return !accounts.hasKey(key) }
        guard let key = accounts.keys[key], key.revoked == nil else { return false }
        return key.team == team && key.publicKey == publicKey && key.bundleIDs == bundleIDs
            && Environment.allCases.allSatisfy { key.environments.contains($0) == isFor($0) }
    }

    /// Throws unless the accounts still have the same key.
    func checkKey(in accounts: AccountsSnapshot) throws(Rejection) {
        guard !isGood(in: accounts) else { return }
        throw Rejection(.invalidProviderToken, detail: "The key \(key) was revoked, deleted or changed.")
    }
}

extension ProviderKey {
    /// - Returns: nil if the key is revoked or is not a point on the curve.
    fileprivate init?(_ key: TeamKey) {
        // If a stored key cannot be read, treat it as missing.
        guard key.revoked == nil, let point = try? P256.Signing.PublicKey(x963Representation: key.publicKey) else {
            return nil
        }
        self.init(
            id: key.id, team: key.team, publicKey: point, environments: key.environments, bundleIDs: key.bundleIDs)
    }

    /// - Returns: nil if the grant is suspended or revoked, has no key with this identifier, or the key is not a point on the
    ///   curve.
    init?(_ grant: Grant, _ id: KeyID) {
        guard grant.isActive, let key = grant.providerKey(id),
            let point = try? P256.Signing.PublicKey(x963Representation: key.publicKey)
        else {
            return nil
        }
        self.init(
            id: id, team: grant.team, publicKey: point, bundleIDs: [grant.bundleID], grant: grant.id)
    }
}

package import Notifications
package import Storage

extension AccountsSnapshot {
    /// Adds a grant.
    /// - Throws: ``StoreError/Code/exists``, ``StoreError/Code/missing`` or ``StoreError/Code/conflict``.
    mutating func add(_ grant: Grant) throws(StoreError) {
        guard let app = apps[grant.bundleID], app.team == grant.team else {
            throw StoreError(.missing, "There is no app \(grant.bundleID); carillon app list shows all apps.")
        }
        guard keys[grant.key] == nil, self.grant(withKey: grant.key) == nil else {
            throw StoreError(.exists, "There is a key \(grant.key) already.")
        }
        guard grants[grant.id] == nil, self.grant(withClientKey: grant.clientKey) == nil else {
            throw StoreError(.exists, "There is a grant \(grant.id) already.")
        }
        guard !revokedKeys.contains(grant.publicKey) else {
            throw StoreError(.exists, "This key was revoked. A revoked key can never be used again: make a new one.")
        }
        let isUsed =
            keys.values.contains { $0.publicKey == grant.publicKey }
            || grants.values.contains { $0.publicKey == grant.publicKey }
        guard !isUsed else {
            throw StoreError(.exists, "A team or another grant has this key: make a new one.")
        }
        try checkGrants(of: grant.bundleID)
        guard grants.count < Grant.maximumCount else {
            throw StoreError(.conflict, "There are \(Grant.maximumCount) grants already.")
        }
        set(grant)
    }

    /// Checks that grants may be made for an app: its upstreams take what grants send.
    package func checkGrants(of bundleID: BundleID) throws(StoreError) {
        for upstream in upstreams.values where upstream.place.bundleID == bundleID && !upstream.acceptsGrants {
            throw .upstreamRefusesGrants(upstream.place)
        }
    }

    /// Replaces the name, the limits and the suspension of a grant.
    /// - Returns: false if nothing changes.
    mutating func change(_ grant: Grant) throws(StoreError) -> Bool {
        guard var present = grants[grant.id] else { throw .missingGrant(grant.id) }
        guard present.revoked == nil else {
            throw StoreError(.conflict, "The grant \(grant.id) was revoked, which cannot be undone: make a new one.")
        }
        present.name = grant.name
        present.limits = grant.limits
        present.isSuspended = grant.isSuspended
        guard present != grants[grant.id] else { return false }
        set(present)
        return true
    }

    /// - Returns: false if it was revoked already.
    mutating func revokeGrant(_ id: GrantID, at moment: Timestamp) throws(StoreError) -> Bool {
        guard let grant = grants[id] else { throw .missingGrant(id) }
        guard grant.revoked == nil else { return false }
        revoke(grant.publicKey, at: moment)
        return true
    }

    /// Revokes a public key, and with it every key and grant that has it: whoever has got hold of the private half could
    /// sign with each of their identifiers.
    mutating func revoke(_ publicKey: [UInt8], at moment: Timestamp) {
        for key in keys.values where key.publicKey == publicKey && key.revoked == nil { keys[key.id]?.revoked = moment }
        for var grant in grants.values where grant.publicKey == publicKey && grant.revoked == nil {
            grant.revoked = moment
            set(grant)
        }
        revokedKeys.insert(publicKey)
    }
}

extension StoreError {
    /// The app's upstream gets provider tokens as they came, or keeps notifications for a release.
    static func upstreamRefusesGrants(_ place: UpstreamPlace) -> StoreError {
        StoreError(
            .conflict,
            "An app with grants cannot have an upstream with passthrough or capture, as \(place.bundleID) has in the "
                + "\(place.environment.rawValue) environment.")
    }

    package static func missingGrant(_ id: GrantID) -> StoreError {
        StoreError(.missing, "There is no grant \(id); carillon grant list shows all grants.")
    }
}

package import Notifications
package import Storage

extension AccountsSnapshot {
    /// Adds a grant.
    /// - Parameter limit: the largest number of grants that are not revoked.
    /// - Throws: ``StoreError/Code/exists``, ``StoreError/Code/missing`` or ``StoreError/Code/conflict``.
    mutating func add(_ grant: Grant, limit: Int) throws(StoreError) {
        guard let app = apps[grant.bundleID], app.team == grant.team else {
            throw StoreError(.missing, "There is no app \(grant.bundleID); carillon app list shows all apps.")
        }
        try demandNew(grant.providerKeys.first)
        guard grants[grant.id] == nil, self.grant(withClientKey: grant.clientKey) == nil else {
            throw StoreError(.exists, "There is a grant \(grant.id) already.")
        }
        try checkGrants(of: grant.bundleID)
        guard grants.unrevokedCount < limit else {
            throw StoreError(.conflict, "There are \(limit) grants already, the largest number: limit.grants.")
        }
        set(grant)
    }

    /// Checks that nobody has or had a key, or another one with its identifier.
    private func demandNew(_ key: GrantProviderKey) throws(StoreError) {
        guard keys[key.id] == nil, grant(withKey: key.id) == nil else {
            throw StoreError(.exists, "There is a key \(key.id) already.")
        }
        guard !revokedKeys.contains(key.publicKey) else {
            throw StoreError(.exists, "This key was revoked. A revoked key can never be used again: make a new one.")
        }
        guard grant(withPublicKey: key.publicKey) == nil,
            !keys.values.contains(where: { $0.publicKey == key.publicKey })
        else {
            throw StoreError(.exists, "A team or another grant has this key: make a new one.")
        }
    }

    /// The grant with this identifier, unless it is revoked.
    private func unrevoked(_ id: GrantID) throws(StoreError) -> Grant {
        guard let grant = grants[id] else { throw .missingGrant(id) }
        guard grant.revoked == nil else {
            throw StoreError(.conflict, "The grant \(id) was revoked, which cannot be undone: make a new one.")
        }
        return grant
    }

    mutating func add(_ key: GrantProviderKey, to id: GrantID) throws(StoreError) {
        var grant = try unrevoked(id)
        guard !grant.isForWebPush else {
            throw StoreError(
                .conflict,
                "The grant \(id) is for Web Push alone and has no key: make another grant for the provider API.")
        }
        try demandNew(key)
        guard grant.providerKeys.add(key) else { throw .twoGrantKeys("keys") }
        set(grant)
    }

    mutating func add(_ key: GrantClientKeyEntry, to id: GrantID) throws(StoreError) {
        var grant = try unrevoked(id)
        guard self.grant(withClientKey: key.text) == nil else {
            throw StoreError(.exists, "A grant has this client key: make a new one.")
        }
        guard grant.clientKeys.add(key) else { throw .twoGrantKeys("client keys") }
        set(grant)
    }

    mutating func endKey(_ key: KeyID, of id: GrantID) throws(StoreError) {
        var grant = try unrevoked(id)
        if let ended = grant.providerKeys.remove(key) {
            revokedKeys.insert(ended.publicKey)
        } else if grant.clientKeys.remove(key) == nil {
            let isLast = grant.providerKeys.first.id == key || grant.clientKeys.first.id == key
            throw isLast
                ? StoreError(.conflict, "The key \(key) is the only one of its kind: add another one first.")
                : StoreError(.missing, "The grant \(id) has no key \(key).")
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
        var present = try unrevoked(grant.id)
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
        for key in grant.providerKeys.all { revoke(key.publicKey, at: moment) }
        return true
    }

    /// Revokes a public key, and with it every key and grant that has it: whoever has got hold of the private half could
    /// sign with each of their identifiers.
    mutating func revoke(_ publicKey: [UInt8], at moment: Timestamp) {
        for key in keys.values where key.publicKey == publicKey && key.revoked == nil { keys[key.id]?.revoked = moment }
        if var grant = grant(withPublicKey: publicKey), grant.revoked == nil {
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

    /// A grant has two keys of a kind already.
    fileprivate static func twoGrantKeys(_ kind: String) -> StoreError {
        StoreError(.conflict, "The grant has two \(kind) already: end one of them first.")
    }

    package static func missingGrant(_ id: GrantID) -> StoreError {
        StoreError(.missing, "There is no grant \(id); carillon grant list shows all grants.")
    }
}

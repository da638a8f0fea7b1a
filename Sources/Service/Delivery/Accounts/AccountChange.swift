package import Notifications
package import Storage

/// A change of the accounts.
package enum AccountChange: Sendable, Hashable {
    case createTeam(Team)
    /// Deletes a team with its apps, keys and certificates.
    case deleteTeam(TeamID, at: Timestamp)
    /// Creates apps. The store chooses their ``App/id``, which follow each other. A change copies the accounts, so one for
    /// many apps costs as much as one for a single app.
    case createApps([BundleID], team: TeamID)
    /// Switches the broadcast channels of an app on or off.
    case setBroadcasts(BundleID, Bool)
    /// Sets how many notifications an app keeps for each device, from 1 to ``MailboxBound/maximumCount``.
    case setKeep(BundleID, Int)
    /// Deletes an app with its certificates, and with the keys that are restricted to this app. Other keys lose it
    /// from their restriction.
    case deleteApp(BundleID, at: Timestamp)
    case createKey(TeamKey)
    case revokeKey(KeyID, at: Timestamp)
    case createCertificate(TeamCertificate)
    case revokeCertificate(CertificateSerial, at: Timestamp)
    case revokeDevice(DeviceKey, at: Timestamp)
    /// Lists an administrator's certificate. Removes those that expired long ago.
    case createAdministrator(AdministratorCertificate, at: Timestamp)
    case revokeAdministrator(CertificateSerial, at: Timestamp)
    /// Revokes an administrator's certificate, also if it is not listed. Removes those that expired long ago.
    /// `validUntil` is a moment at which a certificate that is not listed has expired.
    case revokeUnlistedAdministrator(CertificateSerial, validUntil: Timestamp, at: Timestamp)
    /// Sets or replaces the upstream of an app in an environment. The app then keeps one notification.
    case setUpstream(AppUpstream)
    case removeUpstream(UpstreamPlace)
    /// Sets or replaces what Web Push does with the messages of an app in an environment.
    case setWebPush(AppWebPush)
    case removeWebPush(UpstreamPlace)
    /// Creates a grant, unless that many others are not revoked.
    case createGrant(Grant, limit: Int = GrantRules.usualGrants)
    /// Replaces the name, the limits and the suspension of the grant with this identifier.
    case changeGrant(Grant)
    /// Revokes a grant. This cannot be undone, and its key can never be used again.
    case revokeGrant(GrantID, at: Timestamp)
    /// Gives a grant a second key. Both are accepted.
    case addGrantKey(GrantID, GrantProviderKey)
    /// Gives a grant a second client key. Both are accepted.
    case addGrantClientKey(GrantID, GrantClientKeyEntry)
    /// Ends one of two keys, or one of two client keys, of a grant. A key that has ended can never be used again.
    case endGrantKey(GrantID, KeyID)
    /// Removes those of these grants that are revoked. Their keys can never be used again.
    case removeRevokedGrants([GrantID])

    /// Creates one app.
    package static func createApp(bundleID: BundleID, team: TeamID) -> AccountChange {
        .createApps([bundleID], team: team)
    }
}

extension AccountsSnapshot {
    /// Returns the accounts after a change; nil if the change has no effect. These rules are the same for every
    /// store.
    ///
    /// - Parameter nextAppID: a number that was never used for an app.
    /// - Throws: ``StoreError/Code/exists`` or ``StoreError/Code/missing``.
    package func applying(
        _ change: AccountChange,
        nextAppID: AppID,
    ) throws(StoreError) -> AccountsSnapshot? {
        var next = self
        next.advance()
        switch change {
        case .createTeam(let team):
            guard teams[team.id] == nil else { throw StoreError(.exists, "There is a team \(team.id) already.") }
            next.teams[team.id] = team
        case .deleteTeam(let team, _):
            try demand(team)
            next.remove(team)
        case .createApps(let bundleIDs, let team):
            next.insert(try made(bundleIDs, of: team, nextAppID))
        case .setBroadcasts(let bundleID, let hasBroadcasts):
            var app = try known(bundleID)
            guard app.hasBroadcasts != hasBroadcasts else { return nil }
            app.hasBroadcasts = hasBroadcasts
            next.insert([app])
        case .setKeep(let bundleID, let keep):
            var app = try known(bundleID)
            guard keep == 1 || !upstreams.keys.contains(where: { $0.bundleID == bundleID }) else {
                throw .forwardedAppKeepsOne(bundleID)
            }
            guard app.keep != keep else { return nil }
            app.keep = keep
            next.insert([app])
        case .deleteApp(let bundleID, _):
            next.remove(try known(bundleID))
        case .createKey(let key):
            try next.add(key)
        case .revokeKey(let id, let moment):
            guard let key = keys[id] else {
                throw StoreError(.missing, "There is no key \(id); carillon key list shows all keys.")
            }
            guard key.revoked == nil else { return nil }
            next.revoke(key.publicKey, at: moment)
        case .createCertificate(let certificate):
            try next.add(certificate)
        case .revokeCertificate(let serial, let moment):
            guard let certificate = certificates[serial] else {
                throw StoreError(
                    .missing, "There is no certificate \(serial); carillon certificate list shows all certificates."
                )
            }
            guard certificate.revoked == nil else { return nil }
            next.certificates[serial]?.revoked = moment
        case .revokeDevice(let device, let moment):
            guard revokedDevices[device] == nil else { return nil }
            next.revokedDevices[device] = moment
        case .createAdministrator(let certificate, let moment):
            try next.add(certificate, at: moment)
        case .revokeAdministrator(let serial, let moment):
            guard try next.revokeAdministrator(serial, at: moment) else { return nil }
        case .revokeUnlistedAdministrator(let serial, let validUntil, let moment):
            guard try next.revokeUnlistedAdministrator(serial, validUntil: validUntil, at: moment) else { return nil }
        case .setUpstream(let upstream):
            guard try next.set(upstream) else { return nil }
        case .removeUpstream(let place):
            guard upstreams[place] != nil else { throw .missingUpstream(place) }
            next.upstreams[place] = nil
        case .setWebPush(let settings):
            guard try next.set(settings) else { return nil }
        case .removeWebPush(let place):
            guard webPush[place] != nil else { throw .missingWebPush(place) }
            next.webPush[place] = nil
        case .createGrant(let grant, let limit): try next.add(grant, limit: limit)
        case .changeGrant(let grant):
            guard try next.change(grant) else { return nil }
        case .revokeGrant(let id, let moment):
            guard try next.revokeGrant(id, at: moment) else { return nil }
        case .addGrantKey(let id, let key): try next.add(key, to: id)
        case .addGrantClientKey(let id, let key): try next.add(key, to: id)
        case .endGrantKey(let id, let key): try next.endKey(key, of: id)
        case .removeRevokedGrants(let candidates):
            let ids = candidates.filter { grants[$0]?.revoked != nil }
            guard !ids.isEmpty else { return nil }
            next.removeGrants(ids)
        }
        return next
    }

    private mutating func add(_ key: TeamKey) throws(StoreError) {
        try demand(key.team)
        for bundleID in key.bundleIDs ?? [] { try demand(bundleID, of: key.team) }
        guard keys[key.id] == nil, grant(withKey: key.id) == nil else {
            throw StoreError(.exists, "There is a key \(key.id) already.")
        }
        guard !revokedKeys.contains(key.publicKey) else {
            throw StoreError(.exists, "This key was revoked. A revoked key can never be used again: make a new one.")
        }
        guard grant(withPublicKey: key.publicKey) == nil else {
            throw StoreError(.exists, "A grant has this key: make a new one.")
        }
        keys[key.id] = key
        if key.revoked != nil { revokedKeys.insert(key.publicKey) }
    }

    private mutating func add(_ certificate: TeamCertificate) throws(StoreError) {
        try demand(certificate.team)
        try demand(certificate.bundleID, of: certificate.team)
        guard certificates[certificate.serial] == nil else {
            throw StoreError(.exists, "There is a certificate \(certificate.serial) already.")
        }
        certificates[certificate.serial] = certificate
    }

    /// - Returns: false if the app has this upstream already.
    private mutating func set(_ upstream: AppUpstream) throws(StoreError) -> Bool {
        _ = try known(upstream.place.bundleID)
        let hasGrants = grants.values.contains { $0.bundleID == upstream.place.bundleID && $0.revoked == nil }
        guard upstream.acceptsGrants || !hasGrants else { throw .upstreamRefusesGrants(upstream.place) }
        guard upstreams[upstream.place] != upstream else { return false }
        upstreams[upstream.place] = upstream
        // The upstream keeps its notifications.
        if var app = apps[upstream.place.bundleID], app.keep != 1 {
            app.keep = 1
            insert([app])
        }
        return true
    }

    /// - Returns: false if the app has these settings already.
    private mutating func set(_ settings: AppWebPush) throws(StoreError) -> Bool {
        let place = settings.place
        _ = try known(place.bundleID)
        if settings.relaysTo, let other = relay(in: place.environment), other.place != place {
            throw .otherRelay(other.place)
        }
        guard webPush[place] != settings else { return false }
        webPush[place] = settings
        return true
    }

    /// The apps that a change makes.
    private func made(_ bundleIDs: [BundleID], of team: TeamID, _ first: AppID) throws(StoreError) -> [App] {
        try demand(team)
        var seen: Set<BundleID> = []
        for bundleID in bundleIDs {
            guard seen.insert(bundleID).inserted, apps[bundleID]?.team != team else {
                throw StoreError(.exists, "There is an app \(bundleID) already.")
            }
            guard apps[bundleID] == nil else {
                throw StoreError(
                    .exists, "There is an app \(bundleID) already, of another team: a bundle ID is unique across teams."
                )
            }
            try demandOwnTopics(bundleID, of: team)
        }
        return App.numbered(bundleIDs, of: team, from: first)
    }

    /// Refuses a bundle ID that equals a topic of another team's app. Otherwise notifications for one team's app
    /// could reach the other's.
    private func demandOwnTopics(_ bundleID: BundleID, of team: TeamID) throws(StoreError) {
        for suffix in TopicKind.allCases.map(\.suffix) where !suffix.isEmpty {
            var names = [bundleID.rawValue + suffix]
            if bundleID.rawValue.hasSuffix(suffix) { names.append(String(bundleID.rawValue.dropLast(suffix.count))) }
            for name in names {
                guard let other = BundleID(rawValue: name).flatMap({ apps[$0] }), other.team != team else { continue }
                throw StoreError(
                    .exists, "\(bundleID) and the app \(other.bundleID) of another team have a topic in common.")
            }
        }
    }

    private func known(_ bundleID: BundleID) throws(StoreError) -> App {
        guard let app = apps[bundleID] else {
            throw StoreError(.missing, "There is no app \(bundleID); carillon app list shows all apps.")
        }
        return app
    }

    private func demand(_ team: TeamID) throws(StoreError) {
        guard teams[team] != nil else { throw StoreError(.missing, "There is no team \(team): create it first.") }
    }

    private func demand(_ bundleID: BundleID, of team: TeamID) throws(StoreError) {
        guard apps[bundleID]?.team == team else {
            throw StoreError(.missing, "The team \(team) has no app \(bundleID): create it first.")
        }
    }
}

extension StoreError {
    /// Notifications of an app with an upstream are kept there.
    package static func forwardedAppKeepsOne(_ bundleID: BundleID) -> StoreError {
        StoreError(
            .conflict, "The app \(bundleID) has an upstream, so it keeps 1: the upstream keeps its notifications.")
    }

    /// A relay's URL does not name the app, so only one app of each environment can have it.
    package static func otherRelay(_ place: UpstreamPlace) -> StoreError {
        StoreError(
            .conflict,
            "The app \(place.bundleID) has the relay's URL in the \(place.environment.rawValue) environment, and only one app "
                + "of each environment can have it: carillon app web-push set without --relay-to takes it from that app."
        )
    }

    /// The app has no settings of Web Push in the environment.
    package static func missingWebPush(_ place: UpstreamPlace) -> StoreError {
        StoreError(
            .missing,
            "The app \(place.bundleID) has no settings of Web Push in the \(place.environment.rawValue) environment.")
    }

    /// The app has no upstream in the environment.
    package static func missingUpstream(_ place: UpstreamPlace) -> StoreError {
        StoreError(
            .missing, "The app \(place.bundleID) has no upstream in the \(place.environment.rawValue) environment.")
    }
}

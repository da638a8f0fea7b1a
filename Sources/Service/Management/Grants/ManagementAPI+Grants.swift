import Crypto
import Delivery
import HTTPAPI
import Hummingbird
import Notifications
import Storage
import Trust

// Makes, changes, lists and revokes grants, and invites instances to make one.
extension ManagementAPI {
    func createGrant(_ request: ManagementMessages.NewGrant) async throws -> ManagementMessages.GrantMade {
        let isForWebPush = request.webPush ?? false
        guard !isForWebPush || request.publicKey == nil else {
            throw Problem.invalid("/publicKey", "A grant for Web Push has no key.")
        }
        let made = request.publicKey == nil ? P256.Signing.PrivateKey() : nil
        let publicKey = try made?.publicKey ?? Self.publicKey(in: request.publicKey ?? "")
        let app = try app(ofGrant: request.bundleID)
        var limits = try limits(request.limits, of: app.bundleID, GrantLimits())
        limits.webPush = isForWebPush ? true : nil
        try checkRegistration(limits)
        var random = SystemRandomNumberGenerator()
        let grant = Grant(
            id: .random(using: &random), bundleID: app.bundleID, team: app.team, name: request.name,
            key: .random(using: &random), publicKey: Array(publicKey.x963Representation),
            clientKey: GrantClientKey().text, limits: limits,
            isSuspended: request.suspended ?? false, made: now)
        _ = try await accounts.apply(.createGrant(grant, limit: parts.grantUpkeep.rules.grants))
        return ManagementMessages.GrantMade(
            grant: grant.id.rawValue, teamID: grant.team.rawValue, keyID: isForWebPush ? nil : grant.key.rawValue,
            clientKey: grant.clientKey,
            bundleID: grant.bundleID.rawValue, privateKey: isForWebPush ? nil : made?.pemRepresentation,
            webPush: limits.webPush)
    }

    func changeGrant(
        _ name: String,
        _ change: ManagementMessages.GrantChange,
    ) async throws -> ManagementMessages.Grant {
        // Another change may come in between. Then the accounts have another version, and both are considered again.
        while true {
            let accounts = accounts.current
            var grant = try known(name, in: accounts)
            grant.name = change.name ?? grant.name
            grant.isSuspended = change.suspended ?? grant.isSuspended
            grant.limits = try limits(change.limits, of: grant.bundleID, grant.limits)
            try checkRegistration(grant.limits)
            do throws(StoreError) {
                _ = try await self.accounts.apply(.changeGrant(grant), to: accounts.version)
            } catch {
                guard error == .accountsHaveChanged else { throw error }
                continue
            }
            return try await self.grant(name)
        }
    }

    private func checkRegistration(_ limits: GrantLimits) throws {
        guard limits.webPush == true, limits.registration == .code else { return }
        throw Problem.invalid("/registration", "A grant for Web Push has no key, so nobody could sign its codes.")
    }

    func revokeGrant(_ name: String) async throws -> ManagementMessages.Grant {
        let grant = try known(name, in: accounts.current)
        _ = try await accounts.apply(.revokeGrant(grant.id, at: now))
        return try await self.grant(name)
    }

    func grant(_ name: String) async throws -> ManagementMessages.Grant {
        let id = try known(name, in: accounts.current).id
        let use = try await use(of: id)
        return message(try known(name, in: accounts.current), use)
    }

    func listGrants(_ call: ManagementCall) async throws -> Response {
        let use = try await use()
        let grants = accounts.current.grants
        return ListPage.make(of: grants.keys.lazy.map(\.rawValue), call) { name in
            GrantID(rawValue: name).flatMap { grants[$0] }.map { message($0, use) }
        }
    }

    // MARK: Invitations

    func inviteGrant(
        _ request: ManagementMessages.NewGrantInvitation
    ) async throws -> ManagementMessages.GrantInvitationMade {
        var random = SystemRandomNumberGenerator()
        let (code, now) = (ActivationCode.random(using: &random), now)
        let app = try app(ofGrant: request.bundleID)
        try accounts.current.checkGrants(of: app.bundleID)
        let invitation = GrantInvitation(
            digest: code.digest, bundleID: app.bundleID, name: request.name,
            limits: try limits(request.limits, of: app.bundleID, GrantLimits()),
            expires: now.advanced(by: GrantInvitation.life))
        try await parts.grants.invite(invitation, at: now)
        return ManagementMessages.GrantInvitationMade(
            code: code.text, id: Hexadecimal.string(invitation.digest), expires: invitation.expires.milliseconds)
    }

    func listGrantInvitations(_ call: ManagementCall) async throws -> Response {
        let invitations = try await parts.grants.grantInvitations(at: now).map { message($0) }
        let byID = Dictionary(invitations.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        return ListPage.make(of: byID.keys, call) { byID[$0] }
    }

    func withdrawGrantInvitation(_ id: String) async throws -> ManagementMessages.GrantInvitation {
        let digest = try invitationDigest(id)
        guard let invitation = try await parts.grants.removeGrantInvitation(digest, at: now) else {
            throw StoreError(.missing, "There is no invitation \(id) to make a grant.")
        }
        return message(invitation)
    }

    // MARK: Values

    func known(_ name: String, in accounts: AccountsSnapshot) throws -> Grant {
        guard let id = GrantID(rawValue: name) else {
            throw Problem(400, "\(name.debugDescription) has to be \(TextFormat.grantID.name).")
        }
        guard let grant = accounts.grants[id] else { throw StoreError.missingGrant(id) }
        return grant
    }

    private func app(ofGrant name: String) throws -> App {
        let bundleID = try bundleID(name)
        return try present(accounts.current.apps[bundleID], "app", bundleID)
    }

    /// What grants have sent, and their handles.
    private struct Use {
        var sent: [GrantID: [String: UInt64]]
        var today: [GrantID: UInt64]
        var handles: [GrantID: Int]
    }

    /// - Parameter grant: the only one that is asked for; nil for all.
    private func use(of grant: GrantID? = nil) async throws -> Use {
        await parts.grantMeter.write()
        await parts.grantUpkeep.catchUp()
        let day = GrantUse.day(of: parts.clock.time)
        return Use(
            sent: try await parts.grants.answers(of: grant), today: try await parts.grants.sent(on: day, of: grant),
            handles: try await parts.grants.handleCounts(of: grant))
    }

    /// Changes limits as a request asks for it.
    private func limits(
        _ change: ManagementMessages.GrantBounds,
        of bundleID: BundleID,
        _ present: GrantLimits,
    ) throws -> GrantLimits {
        /// - Returns: `old` if the request says nothing, and nil if it removes the limit.
        func number(_ new: Int?, _ old: Int?) -> Int? { new.map { $0 == 0 ? nil : $0 } ?? old }
        func list<Element>(_ new: [Element]?, _ old: [Element]?) -> [Element]? {
            new.map { $0.isEmpty ? nil : $0 } ?? old
        }
        let topics = Set(TopicKind.allCases.map { bundleID.topic($0) })
        for (index, topic) in (change.topics ?? []).enumerated() where !topics.contains(topic) {
            throw Problem.invalid("/topics/\(index)", "The value has to be a topic of the app \(bundleID).")
        }
        for (index, priority) in (change.priorities ?? []).enumerated() where Priority(rawValue: priority) == nil {
            throw Problem.invalid("/priorities/\(index)", "The value has to be 10, 5 or 1.")
        }
        if let expires = change.expires, expires != 0, expires <= parts.clock.time.milliseconds {
            throw Problem.invalid("/expires", "The value has to be a time in the future, in milliseconds since 1970.")
        }
        var limits = present
        limits.topics = list(change.topics, limits.topics)
        limits.pushTypes = list(change.pushTypes, limits.pushTypes)
        limits.priorities = list(change.priorities, limits.priorities)
        limits.rate = number(change.rate, limits.rate)
        limits.burst = number(change.burst, limits.burst)
        limits.daily = number(change.daily, limits.daily)
        limits.payloadBytes = number(change.payloadBytes, limits.payloadBytes)
        limits.handles = number(change.maximumHandles, limits.handles)
        limits.expires = change.expires.map { $0 == 0 ? nil : $0 } ?? limits.expires
        if let registration = change.registration.flatMap(GrantRegistration.init(rawValue:)) {
            limits.registration = registration == .open ? nil : registration
        }
        change.encryptedOnly?.set(&limits)
        // A burst is a part of a rate.
        if limits.rate == nil {
            guard change.burst ?? 0 == 0 else {
                throw Problem.invalid("/burst", "A burst needs a rate: how many notifications each second.")
            }
            if change.rate != nil { limits.burst = nil }
        }
        return limits
    }

    private func message(_ grant: Grant, _ use: Use) -> ManagementMessages.Grant {
        // The store has no key that cannot be read.
        let key = try? P256.Signing.PublicKey(x963Representation: grant.publicKey)
        let (limits, hasKeys) = (grant.limits, !grant.isForWebPush)
        return ManagementMessages.Grant(
            grant: grant.id.rawValue, bundleID: grant.bundleID.rawValue, name: grant.name, teamID: grant.team.rawValue,
            keyID: hasKeys ? grant.key.rawValue : nil, publicKey: hasKeys ? key?.pemRepresentation ?? "" : nil,
            clientKey: grant.clientKey, webPush: limits.webPush, suspended: grant.isSuspended,
            made: grant.made.milliseconds, revoked: grant.revoked?.milliseconds,
            keys: (hasKeys ? grant.providerKeys.all.map { Self.message($0, Self.provider) } : [])
                + grant.clientKeys.all.map { Self.message($0, Self.client) },
            handles: use.handles[grant.id] ?? 0, today: use.today[grant.id] ?? 0, sent: use.sent[grant.id] ?? [:],
            readable: limits.encrypted?.readable,
            limits: ManagementMessages.GrantBounds(
                topics: limits.topics, pushTypes: limits.pushTypes, priorities: limits.priorities, rate: limits.rate,
                burst: limits.burst, daily: limits.daily, payloadBytes: limits.payloadBytes, expires: limits.expires,
                encryptedOnly: ManagementMessages.EncryptedOnly(limits), maximumHandles: limits.maximumHandles,
                registration: (limits.registration ?? .open).rawValue))
    }

    private func message(_ invitation: GrantInvitation) -> ManagementMessages.GrantInvitation {
        ManagementMessages.GrantInvitation(
            id: Hexadecimal.string(invitation.digest), bundleID: invitation.bundleID.rawValue, name: invitation.name,
            expires: invitation.expires.milliseconds)
    }
}

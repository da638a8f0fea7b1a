import Delivery
import Notifications
import Storage
import Testing

extension StoreContract {
    static let grantPromises: [Promise] = [
        Promise("a grant reads back as it was", grantReadsBack),
        Promise("a grant is found by its key and its client key", findsGrant),
        Promise("a grant needs its app, and a key that nobody has", grantNeedsAppAndKey),
        Promise("a grant's name, limits and suspension can be changed", changesGrant),
        Promise("a revoked grant stays revoked, and its key is never used again", revokesGrant),
        Promise("a grant ends with its app", grantEndsWithApp),
        Promise("a handle reads back as it was", handleReadsBack),
        Promise("a grant has no more handles than its limit", limitsHandles),
        Promise("many that store handles of one grant do not exceed the limit together", limitsHandlesTogether),
        Promise("a handle that is stored again is counted once", countsHandleOnce),
        Promise("a handle is removed by its own grant only", removesHandle),
        Promise("a handle remembers its end until it is stored again", endsHandle),
        Promise("a handle that was stored after the end does not have it", endsOldHandle),
        Promise("handles of revoked and deleted grants are removed", removesOrphans),
        Promise("handles are listed in their order, in pages", listsHandles),
        Promise("what a grant sends on a day is added up", addsUp),
        Promise("answers are added up over all days", addsAnswers),
        Promise("an invitation makes one grant", invitesOnce),
        Promise("an invitation for a grant expires", grantInvitationExpires),
        Promise("an invitation for a grant that was used is answered again, for the same key alone", answersGrantAgain),
        Promise(
            "of many that use the same invitation for a grant, one does, and all get the same grant",
            answersAllGrantsAlike),
        Promise("an invitation is unused again if its grant was not made", restoresGrantInvitation),
    ]

    static func id(_ text: String) throws -> GrantID {
        try #require(GrantID(rawValue: "g_" + text + String(repeating: "a", count: 16 - text.count)))
    }

    static func keyID(_ text: String) throws -> KeyID {
        try #require(KeyID(rawValue: text + String(repeating: "A", count: 10 - text.count)))
    }

    /// Makes a team with an app, and a grant that is not stored.
    static func newGrant(_ ports: Ports, _ name: String = "one") async throws -> Grant {
        let team = try Samples.team()
        let bundleID = try Samples.bundleID("com.example.app")
        if ports.accounts.current.apps[bundleID] == nil {
            _ = try await ports.accounts.apply(.createTeam(team))
            _ = try await ports.accounts.apply(.createApp(bundleID: bundleID, team: team.id))
        }
        return Grant(
            id: try id(name), bundleID: bundleID, team: team.id, name: "The \0 instance \(name)",
            key: try keyID(name.uppercased()), publicKey: Array(name.utf8), clientKey: "ck_" + name,
            made: Samples.moment)
    }

    static func grant(_ ports: Ports, _ name: String = "one") async throws -> Grant {
        let grant = try await newGrant(ports, name)
        _ = try await ports.accounts.apply(.createGrant(grant))
        return grant
    }

    static func handle(
        _ byte: UInt8,
        of grant: Grant,
        registered: Timestamp = Samples.moment,
    ) throws -> StoredHandle {
        StoredHandle(
            handle: try #require(Handle([UInt8](repeating: byte, count: Handle.byteCount))), grant: grant.id,
            app: AppID(rawValue: 1), environment: .production, token: [byte, 0, 1], registered: registered)
    }

    static func stored(_ ports: Ports, _ handle: StoredHandle) async throws -> StoredHandle? {
        try await ports.grants.handles([handle.handle])[0]
    }

    // MARK: Grants

    @Sendable
    private static func grantReadsBack(_ ports: Ports) async throws {
        var grant = try await newGrant(ports)
        grant.limits.topics = ["com.example.app"]
        grant.limits.pushTypes = ["alert", "background"]
        grant.limits.priorities = [5, 10]
        (grant.limits.rate, grant.limits.burst, grant.limits.daily) = (10, 20, 1000)
        (grant.limits.payloadBytes, grant.limits.expires, grant.limits.handles) = (2048, 1 << 50, 7)
        grant.limits.encryptedOnly = true
        grant.isSuspended = true
        let answer = try await ports.accounts.apply(.createGrant(grant))
        #expect(answer.grants == [grant.id: grant])
        #expect(ports.accounts.current.grants == [grant.id: grant])
    }

    @Sendable
    private static func findsGrant(_ ports: Ports) async throws {
        let (one, two) = (try await grant(ports), try await grant(ports, "two"))
        let accounts = ports.accounts.current
        #expect(accounts.grant(withKey: one.key) == one && accounts.grant(withKey: two.key) == two)
        #expect(accounts.grant(withClientKey: "ck_two") == two)
        #expect(accounts.grant(withClientKey: "ck_three") == nil)
        #expect(accounts.keys.isEmpty, "A grant's key is no key of the team.")
    }

    @Sendable
    private static func grantNeedsAppAndKey(_ ports: Ports) async throws {
        let first = try await grant(ports)
        let missing = Grant(
            id: try id("none"), bundleID: try Samples.bundleID("com.example.none"), team: first.team, name: "none",
            key: try keyID("NONE"), publicKey: [1], clientKey: "ck_none", made: Samples.moment)
        await #expect(throws: StoreError.self) { _ = try await ports.accounts.apply(.createGrant(missing)) }
        let key = TeamKey(
            id: first.key, team: first.team, publicKey: [9], environments: [.development], bundleIDs: nil)
        await #expect(throws: StoreError.self) { _ = try await ports.accounts.apply(.createKey(key)) }
        let again = Grant(
            id: try id("again"), bundleID: first.bundleID, team: first.team, name: "again", key: try keyID("AGAIN"),
            publicKey: first.publicKey, clientKey: "ck_again", made: Samples.moment)
        await #expect(throws: StoreError.self) { _ = try await ports.accounts.apply(.createGrant(again)) }
        #expect(ports.accounts.current.grants.count == 1)
    }

    @Sendable
    private static func changesGrant(_ ports: Ports) async throws {
        var grant = try await grant(ports)
        (grant.name, grant.limits.rate, grant.isSuspended) = ("renamed", 5, true)
        let answer = try await ports.accounts.apply(.changeGrant(grant))
        #expect(answer.grants[grant.id] == grant && !grant.isActive)
        let again = try await ports.accounts.apply(.changeGrant(grant))
        #expect(again.version == answer.version, "Nothing has changed.")
    }

    @Sendable
    private static func revokesGrant(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        let answer = try await ports.accounts.apply(.revokeGrant(grant.id, at: Samples.later))
        #expect(answer.grants[grant.id]?.revoked == Samples.later)
        #expect(answer.revokedKeys.contains(grant.publicKey))
        await #expect(throws: StoreError.self) { _ = try await ports.accounts.apply(.changeGrant(grant)) }
    }

    @Sendable
    private static func grantEndsWithApp(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        _ = try await ports.accounts.apply(.revokeGrant(grant.id, at: Samples.moment))
        _ = try await ports.accounts.apply(.deleteApp(grant.bundleID, at: Samples.later))
        let accounts = ports.accounts.current
        #expect(accounts.grants.isEmpty && accounts.grant(withKey: grant.key) == nil)
        #expect(accounts.revokedKeys.contains(grant.publicKey))
    }

    // MARK: Handles

    @Sendable
    private static func handleReadsBack(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        let (first, second) = (try handle(1, of: grant), try handle(2, of: grant))
        #expect(try await !ports.grants.hasHandles())
        try await ports.grants.put([first], limit: 10)
        #expect(try await ports.grants.handles([second.handle, first.handle]) == [nil, first])
        #expect(try await ports.grants.hasHandles())
    }

    @Sendable
    private static func limitsHandles(_ ports: Ports) async throws {
        let (grant, other) = (try await grant(ports), try await grant(ports, "two"))
        for byte in 1...3 { try await ports.grants.put([try handle(UInt8(byte), of: grant)], limit: 3) }
        await #expect(throws: StoreError.tooManyHandles(3)) {
            try await ports.grants.put([try handle(4, of: grant)], limit: 3)
        }
        try await ports.grants.put([try handle(5, of: other)], limit: 3)
        #expect(try await ports.grants.handleCounts() == [grant.id: 3, other.id: 1])
    }

    @Sendable
    private static func limitsHandlesTogether(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        let stored = await withTaskGroup(of: Bool.self) { group in
            for byte in 1...20 {
                group.addTask {
                    do {
                        try await ports.grants.put([try handle(UInt8(byte), of: grant)], limit: 5)
                        return true
                    } catch {
                        return false
                    }
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(stored == 5)
        #expect(try await ports.grants.handleCounts() == [grant.id: 5])
        #expect(try await ports.grants.handles(after: nil, limit: 100).count == 5)
    }

    @Sendable
    private static func countsHandleOnce(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        try await ports.grants.put([try handle(1, of: grant)], limit: 1)
        var again = try handle(1, of: grant, registered: Samples.later)
        try await ports.grants.put([again], limit: 1)
        again.firstRegistered = Samples.moment
        #expect(try await stored(ports, again) == again)
        #expect(try await ports.grants.handleCounts() == [grant.id: 1])
    }

    @Sendable
    private static func removesHandle(_ ports: Ports) async throws {
        let (grant, other) = (try await grant(ports), try await grant(ports, "two"))
        let handle = try handle(1, of: grant)
        try await ports.grants.put([handle], limit: 1)
        #expect(try await !ports.grants.remove(handle.handle, of: other.id))
        #expect(try await ports.grants.remove(handle.handle, of: grant.id))
        #expect(try await !ports.grants.remove(handle.handle, of: grant.id))
        #expect(try await stored(ports, handle) == nil)
        #expect(try await ports.grants.handleCounts() == [:])
    }

    @Sendable
    private static func endsHandle(_ ports: Ports) async throws {
        var handle = try handle(1, of: try await grant(ports))
        try await ports.grants.put([handle], limit: 1)
        let end = HandleEnd(reason: .unregistered, moment: Samples.later)
        try await ports.grants.end(handle.handle, end)
        handle.end = end
        #expect(try await stored(ports, handle) == handle)
        handle.end = nil
        try await ports.grants.put([handle], limit: 1)
        handle.firstRegistered = handle.registered
        #expect(try await stored(ports, handle) == handle)
    }

    @Sendable
    private static func endsOldHandle(_ ports: Ports) async throws {
        let handle = try handle(1, of: try await grant(ports), registered: Samples.later)
        try await ports.grants.put([handle], limit: 1)
        try await ports.grants.end(handle.handle, HandleEnd(reason: .unregistered, moment: Samples.moment))
        #expect(try await stored(ports, handle) == handle)
    }

    @Sendable
    private static func removesOrphans(_ ports: Ports) async throws {
        let (grant, other) = (try await grant(ports), try await grant(ports, "two"))
        let (handles, kept) = (try (1...3).map { try handle($0, of: grant) }, try handle(9, of: other))
        try await ports.grants.put(handles, limit: 10)
        try await ports.grants.put([kept], limit: 10)
        #expect(try await ports.grants.removeOrphanedHandles(after: nil, limit: 2).isEmpty)
        _ = try await ports.accounts.apply(.revokeGrant(grant.id, at: Samples.later))
        let first = try await ports.grants.removeOrphanedHandles(after: nil, limit: 2)
        #expect(first == handles.prefix(2).map(\.handle))
        let rest = try await ports.grants.removeOrphanedHandles(after: first.last, limit: 2)
        #expect(rest == [handles[2].handle])
        #expect(try await ports.grants.handleCounts() == [other.id: 1])
        _ = try await ports.accounts.apply(.deleteApp(other.bundleID, at: Samples.later))
        #expect(try await ports.grants.removeOrphanedHandles(after: nil, limit: 2) == [kept.handle])
        #expect(try await ports.grants.handleCounts() == [:])
    }

    @Sendable
    private static func listsHandles(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        let handles = try [UInt8(0xff), 0x80, 1].map { try handle($0, of: grant) }
        try await ports.grants.put(handles, limit: 10)
        let page = try await ports.grants.handles(after: nil, limit: 2)
        #expect(page == [handles[2], handles[1]])
        #expect(try await ports.grants.handles(after: page[1].handle, limit: 2) == [handles[0]])
    }

    // MARK: What was sent

    @Sendable
    private static func addsUp(_ ports: Ports) async throws {
        let (one, two) = (try await grant(ports), try await grant(ports, "two"))
        let counts = [
            GrantCount(grant: one.id, sent: 3, answers: [:]), GrantCount(grant: two.id, sent: 1, answers: [:]),
        ]
        #expect(try await ports.grants.add(counts, on: 100) == [one.id: 3, two.id: 1])
        let more = [GrantCount(grant: one.id, sent: 4, answers: [:])]
        #expect(try await ports.grants.add(more, on: 100) == [one.id: 7])
        #expect(try await ports.grants.sent(on: 100) == [one.id: 7, two.id: 1])
        #expect(try await ports.grants.add(more, on: 101) == [one.id: 4])
        #expect(try await ports.grants.days() == [100, 101], "The other grant has sent nothing today.")
        #expect(try await ports.grants.sent(on: 101) == [one.id: 4])
    }

    @Sendable
    private static func addsAnswers(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        for day in [100, 101] as [UInt64] {
            let answers: [String: UInt64] = ["200": 2, "BadDeviceToken": 1]
            _ = try await ports.grants.add([GrantCount(grant: grant.id, sent: 2, answers: answers)], on: day)
        }
        #expect(try await ports.grants.answers() == [grant.id: ["200": 4, "BadDeviceToken": 2]])
    }

    // MARK: Invitations

    static func inviteToGrant(_ ports: Ports) async throws -> GrantInvitation {
        var limits = GrantLimits()
        limits.daily = 100
        let invitation = GrantInvitation(
            digest: [UInt8](repeating: 7, count: 32), bundleID: try Samples.bundleID("com.example.app"),
            name: "An instance", limits: limits, expires: Samples.later)
        try await ports.grants.invite(invitation, at: Samples.moment)
        return invitation
    }

    @Sendable
    private static func invitesOnce(_ ports: Ports) async throws {
        let invitation = try await inviteToGrant(ports)
        #expect(try await ports.grants.grantInvitations(at: Samples.moment) == [invitation])
        let taken = try await ports.grants.removeGrantInvitation(invitation.digest, at: Samples.moment)
        #expect(taken == invitation)
        #expect(try await ports.grants.removeGrantInvitation(invitation.digest, at: Samples.moment) == nil)
    }

    @Sendable
    private static func grantInvitationExpires(_ ports: Ports) async throws {
        let invitation = try await inviteToGrant(ports)
        #expect(try await ports.grants.grantInvitations(at: Samples.later) == [])
        #expect(try await ports.grants.removeGrantInvitation(invitation.digest, at: Samples.later) == nil)
    }
}

import Delivery
import Notifications
import Storage
import Testing

/// What deleting a team or an app deletes, and when.
extension StoreContract {
    static let deletionPromises: [Promise] = [
        Promise("deleting a team deletes its apps, keys and certificates", deletesTeam),
        Promise("another team keeps what it has", deletesNoOtherTeam),
        Promise("deleting an app deletes its certificates", deletesApp),
        Promise(
            "deleting an app deletes a key restricted to it alone; other keys lose the app", restrictsKeys),
        Promise("deleting something that does not exist is an error", missesDeleted),
        Promise("deleted items can be created again with the same identifiers", makesAgain),
        Promise("the number of a deleted app is never used again", appNumbersAreNotReused),
        Promise("data of existing apps is never removed as orphaned", keepsWhatIsNotOrphaned),
        Promise("the data of a deleted app is removed, and the log records it", withLog: removesOrphaned),
        Promise("at most the limit is removed at a time, and fewer at the end", removesOrphanedInSteps),
        Promise("removing orphaned data does no harm while other apps register", removesWhileRegistering),
    ]

    private struct Account {
        let team: Team
        let apps: [App]

        func destination(_ device: UInt64, app: Int) -> Destination {
            Destination(environment: .production, device: DeviceID(rawValue: device), app: apps[app].id)
        }
    }

    /// Makes a team with apps.
    private static func account(_ number: Int = 1, apps count: Int = 2, in ports: Ports) async throws -> Account {
        let team = try Samples.team("TEAM00000\(number)")
        _ = try await ports.accounts.apply(.createTeam(team))
        var apps: [App] = []
        for index in 0..<count {
            let bundleID = try Samples.bundleID("com.example.team\(number).app\(index)")
            let accounts = try await ports.accounts.apply(.createApp(bundleID: bundleID, team: team.id))
            apps.append(try #require(accounts.apps[bundleID]))
        }
        return Account(team: team, apps: apps)
    }

    private static func key(
        _ text: String,
        of account: Account,
        for apps: [Int]? = nil,
        in ports: Ports,
    ) async throws -> TeamKey {
        let key = TeamKey(
            id: try #require(KeyID(rawValue: text)), team: account.team.id,
            publicKey: [4] + [UInt8](repeating: 0xab, count: 64), environments: [.production],
            bundleIDs: apps.map { Set($0.map { account.apps[$0].bundleID }) })
        _ = try await ports.accounts.apply(.createKey(key))
        return key
    }

    private static func certificate(_ app: App, in ports: Ports) async throws -> TeamCertificate {
        let certificate = Samples.certificate(app.team, app.bundleID, [.production])
        _ = try await ports.accounts.apply(.createCertificate(certificate))
        return certificate
    }

    private static func delete(_ app: App, in ports: Ports) async throws -> AccountsSnapshot {
        try await ports.accounts.apply(.deleteApp(app.bundleID, at: Samples.later))
    }

    /// Registers an app on a device, and stores a notification for it.
    private static func registerAndStore(_ destination: Destination, in ports: Ports) async throws {
        _ = try await ports.registrations.register(destination, tokenKeyID: 1, at: Samples.moment)
        _ = try #require(await ports.mailboxes.store([Samples.entry(destination)]).first).get()
    }

    // MARK: The accounts

    @Sendable
    private static func deletesTeam(_ ports: Ports) async throws {
        let account = try await account(in: ports)
        _ = try await key("KEY0000001", of: account, in: ports)
        _ = try await key("KEY0000002", of: account, for: [0], in: ports)
        let certificate = try await certificate(account.apps[0], in: ports)
        let before = ports.accounts.current
        let answer = try await ports.accounts.apply(.deleteTeam(account.team.id, at: Samples.later))
        #expect(answer == AccountsSnapshot(version: before.version + 1))
        #expect(ports.accounts.current == answer)
        #expect(!answer.trusts(certificate.serial))
        #expect(account.apps.allSatisfy { answer.app($0.id) == nil })
    }

    @Sendable
    private static func deletesNoOtherTeam(_ ports: Ports) async throws {
        let (account, other) = (try await account(1, in: ports), try await account(2, in: ports))
        let key = try await key("KEY0000001", of: other, in: ports)
        let certificate = try await certificate(other.apps[0], in: ports)
        let accounts = try await ports.accounts.apply(.deleteTeam(account.team.id, at: Samples.later))
        #expect(accounts.teams == [other.team.id: other.team])
        #expect(Set(accounts.apps.values) == Set(other.apps))
        #expect(accounts.keys == [key.id: key])
        #expect(accounts.certificates == [certificate.serial: certificate])
    }

    @Sendable
    private static func deletesApp(_ ports: Ports) async throws {
        let account = try await account(in: ports)
        let (gone, kept) = (
            try await certificate(account.apps[0], in: ports), try await certificate(account.apps[1], in: ports)
        )
        let accounts = try await delete(account.apps[0], in: ports)
        #expect(Array(accounts.apps.values) == [account.apps[1]])
        #expect(accounts.app(account.apps[0].id) == nil)
        #expect(accounts.app(account.apps[1].id) == account.apps[1])
        #expect(!accounts.trusts(gone.serial))
        #expect(accounts.certificates == [kept.serial: kept])
        #expect(accounts.teams == [account.team.id: account.team])
    }

    @Sendable
    private static func restrictsKeys(_ ports: Ports) async throws {
        let account = try await account(in: ports)
        let free = try await key("KEY0000001", of: account, in: ports)
        _ = try await key("KEY0000002", of: account, for: [0], in: ports)
        let both = try await key("KEY0000003", of: account, for: [0, 1], in: ports)
        let accounts = try await delete(account.apps[0], in: ports)
        let rest = TeamKey(
            id: both.id, team: both.team, publicKey: both.publicKey, environments: both.environments,
            bundleIDs: [account.apps[1].bundleID])
        #expect(accounts.keys == [free.id: free, both.id: rest])
        #expect(ports.accounts.current.keys == accounts.keys)
    }

    @Sendable
    private static func missesDeleted(_ ports: Ports) async throws {
        let account = try await account(in: ports)
        let (other, bundleID) = (try Samples.team("TEAM000009"), try Samples.bundleID("com.example.none"))
        _ = try await ports.accounts.apply(.deleteApp(account.apps[0].bundleID, at: Samples.later))
        let changes: [AccountChange] = [
            .deleteTeam(other.id, at: Samples.later), .deleteApp(bundleID, at: Samples.later),
            .deleteApp(account.apps[0].bundleID, at: Samples.later),
        ]
        let before = ports.accounts.current
        for change in changes {
            await expectFailure(.missing) { _ = try await ports.accounts.apply(change) }
        }
        #expect(ports.accounts.current == before)
    }

    @Sendable
    private static func makesAgain(_ ports: Ports) async throws {
        let first = try await account(in: ports)
        let key = try await key("KEY0000001", of: first, for: [0], in: ports)
        let certificate = try await certificate(first.apps[0], in: ports)
        _ = try await ports.accounts.apply(.deleteTeam(first.team.id, at: Samples.later))
        let second = try await account(in: ports)
        for change in [.createKey(key), .createCertificate(certificate)] as [AccountChange] {
            _ = try await ports.accounts.apply(change)
        }
        let accounts = ports.accounts.current
        #expect(accounts.teams == [second.team.id: second.team])
        #expect(accounts.keys == [key.id: key])
        #expect(accounts.certificates == [certificate.serial: certificate])
    }

    @Sendable
    private static func appNumbersAreNotReused(_ ports: Ports) async throws {
        var seen: Set<AppID> = []
        for _ in 0..<4 {
            let account = try await account(in: ports)
            for app in account.apps { #expect(seen.insert(app.id).inserted) }
            _ = try await delete(account.apps[1], in: ports)
            _ = try await ports.accounts.apply(.deleteTeam(account.team.id, at: Samples.later))
        }
    }

    // MARK: What is left behind

    @Sendable
    private static func keepsWhatIsNotOrphaned(_ ports: Ports) async throws {
        let account = try await account(in: ports)
        let kept = account.destination(1, app: 1)
        try await registerAndStore(kept, in: ports)
        #expect(try await ports.registrations.removeOrphaned(limit: 10) == 0)
        try await registerAndStore(account.destination(1, app: 0), in: ports)
        _ = try await delete(account.apps[0], in: ports)
        #expect(try await ports.registrations.removeOrphaned(limit: 10) == 1)
        #expect(try await ports.registrations.registrations(of: kept.deviceKey).keys.map(\.self) == [kept.app])
        #expect(try await ports.mailboxes.entries(of: kept.deviceKey).map(\.entry.destination) == [kept])
    }

    @Sendable
    private static func removesOrphaned(_ ports: Ports, _ log: RecordingLog) async throws {
        let account = try await account(in: ports)
        let (stored, listed) = (account.destination(1, app: 0), account.destination(2, app: 0))
        try await registerAndStore(stored, in: ports)
        _ = try await ports.registrations.register(listed, tokenKeyID: 1, at: Samples.moment)
        _ = try await ports.registrations.end(listed, at: Samples.later)
        try await ports.feedback.record([
            FeedbackEntry(
                destination: listed, generation: 1, token: DeviceToken(bytes: SIMD32(repeating: 1)),
                moment: Samples.later)
        ])
        _ = try await ports.accounts.apply(.deleteTeam(account.team.id, at: Samples.later))
        #expect(try await ports.registrations.removeOrphaned(limit: 10) == 2)
        #expect(try await ports.registrations.lookUp([stored, listed]) == [nil, nil])
        #expect(ports.registrations.knownRegistration(ofEach: [stored, listed]).allSatisfy { $0?.registration == nil })
        #expect(try await ports.registrations.registrations(of: stored.deviceKey).isEmpty)
        #expect(try await ports.mailboxes.entries(of: stored.deviceKey).isEmpty)
        let list = FeedbackList(environment: .production, app: listed.app)
        #expect(try await ports.feedback.entries(of: list, after: nil, limit: 10).isEmpty)
        let discarded = NotificationSubject(Samples.entry(stored).notification, to: stored)
        #expect(log.events.map(\.subject) == [discarded])
        #expect(log.events.map(\.step) == [.discarded(.unregistered)])
        #expect(try await ports.registrations.removeOrphaned(limit: 10) == 0)
    }

    @Sendable
    private static func removesOrphanedInSteps(_ ports: Ports) async throws {
        let account = try await account(apps: 3, in: ports)
        for device in 1...7 as ClosedRange<UInt64> {
            for app in 0..<3 { try await registerAndStore(account.destination(device, app: app), in: ports) }
        }
        _ = try await delete(account.apps[0], in: ports)
        var removed: [Int] = []
        for _ in 0..<2 { removed.append(try await ports.registrations.removeOrphaned(limit: 3)) }
        // Delete another app while the first one's data is not completely removed.
        _ = try await delete(account.apps[2], in: ports)
        for _ in 0..<4 { removed.append(try await ports.registrations.removeOrphaned(limit: 3)) }
        #expect(removed == [3, 3, 3, 3, 2, 0])
        for device in 1...7 as ClosedRange<UInt64> {
            let kept = account.destination(device, app: 1)
            #expect(try await ports.registrations.registrations(of: kept.deviceKey).keys.map(\.self) == [kept.app])
            #expect(try await ports.mailboxes.entries(of: kept.deviceKey).map(\.entry.destination) == [kept])
        }
    }

    @Sendable
    private static func removesWhileRegistering(_ ports: Ports) async throws {
        let account = try await account(in: ports)
        let devices = 1...40 as ClosedRange<UInt64>
        for device in devices { try await registerAndStore(account.destination(device, app: 0), in: ports) }
        _ = try await delete(account.apps[0], in: ports)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { while try await ports.registrations.removeOrphaned(limit: 4) == 4 {} }
            group.addTask {
                // One app that exists, and one that is created meanwhile.
                let later = try await Self.account(2, apps: 1, in: ports)
                for device in devices {
                    try await registerAndStore(account.destination(device, app: 1), in: ports)
                    try await registerAndStore(later.destination(device, app: 0), in: ports)
                }
            }
            try await group.waitForAll()
        }
        for device in devices {
            let key = account.destination(device, app: 0).deviceKey
            #expect(try await ports.registrations.registrations(of: key).count == 2)
            #expect(try await ports.mailboxes.entries(of: key).count == 2)
        }
        #expect(try await ports.registrations.removeOrphaned(limit: 10) == 0)
    }
}

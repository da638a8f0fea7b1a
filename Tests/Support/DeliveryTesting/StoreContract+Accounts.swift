import Delivery
import Notifications
import Storage
import Testing

extension StoreContract {
    static let accountPromises: [Promise] = [
        Promise("there are no accounts at first", startsEmpty),
        Promise("a change is in the answer and in the current accounts", appliesChanges),
        Promise("the version grows with every change", versionGrows),
        Promise("a change to an older version is a conflict", conflicts),
        Promise("of several changes to the same version only one is applied", comparesAndSets),
        Promise("of several changes to the newest version all are applied", triesAgain),
        Promise("a refused change has no effect", refusalChangesNothing),
        Promise("creating a team, an app or a key that exists is an error", exists),
        Promise("creating an app or a key of a team that does not exist is an error", missesTeam),
        Promise("a key that does not exist cannot be revoked", missesKey),
        Promise("apps have different IDs, which never change", appIDs),
        Promise("many apps are created in one change, or none of them", createsApps),
        Promise("the broadcast channels of an app are switched off and on", switchesBroadcasts),
        Promise("a key reads back as it was", keyReadsBack),
        Promise("a revoked key has the time of its revocation", revokes),
        Promise("revoking a revoked key is harmless", revokesAgain),
        Promise("a revoked key does not return under another key identifier", revokedKeyStaysRevoked),
        Promise("a key that has two identifiers is revoked under both", revokesBothIdentifiers),
        Promise("a revoked key does not return after its team was deleted", revokedKeyOutlivesTeam),
        Promise("a key restricted to apps reads back as it was", restrictedKeyReadsBack),
        Promise("a key cannot be restricted to another team's app", restrictionNeedsApp),
        Promise("a certificate reads back as it was", certificateReadsBack),
        Promise("a certificate that does not exist is not trusted", unknownIsNotTrusted),
        Promise("a certificate is for an app of its team", certificateNeedsApp),
        Promise("no app may have a bundle ID that is a topic of another team", topicsAreTheTeams),
        Promise("a revoked certificate has the time of its revocation", revokesCertificate),
        Promise("a certificate that does not exist cannot be revoked", missesCertificate),
        Promise("a revoked device is in the list of revoked devices, once", revokesDevice),
        Promise("the stream of changes begins with the present accounts", changesBeginWithPresent),
        Promise("a fast reader gets every snapshot", changesFollow),
        Promise("a slow reader gets the newest snapshot", changesSkip),
        Promise("every reader gets the changes", changesForAll),
    ]

    @Sendable
    private static func startsEmpty(_ ports: Ports) async throws {
        let accounts = ports.accounts.current
        #expect(accounts.teams.isEmpty && accounts.apps.isEmpty && accounts.keys.isEmpty)
    }

    @Sendable
    private static func appliesChanges(_ ports: Ports) async throws {
        let team = try Samples.team()
        let bundleID = try Samples.bundleID("com.example.app")
        let key = try Samples.key(of: team)
        let changes: [AccountChange] = [
            .createTeam(team), .createApp(bundleID: bundleID, team: team.id), .createKey(key),
        ]
        for change in changes {
            let answer = try await ports.accounts.apply(change)
            #expect(answer.version == ports.accounts.current.version)
        }
        let accounts = ports.accounts.current
        #expect(accounts.teams == [team.id: team])
        #expect(accounts.keys == [key.id: key])
        let app = try #require(accounts.apps[bundleID])
        #expect(app.team == team.id)
        #expect(accounts.app(app.id) == app)
    }

    // MARK: Versions

    @Sendable
    private static func versionGrows(_ ports: Ports) async throws {
        var versions = [ports.accounts.current.version]
        for index in 1...5 {
            let team = try Samples.team("TEAM00000\(index)")
            versions.append(try await ports.accounts.apply(.createTeam(team)).version)
        }
        #expect(versions == versions.sorted())
        #expect(Set(versions).count == versions.count)
    }

    @Sendable
    private static func conflicts(_ ports: Ports) async throws {
        let version = ports.accounts.current.version
        _ = try await ports.accounts.apply(.createTeam(Samples.team()), to: version)
        await expectFailure(.conflict) {
            _ = try await ports.accounts.apply(.createTeam(Samples.team("TEAM000002")), to: version)
        }
    }

    @Sendable
    private static func comparesAndSets(_ ports: Ports) async throws {
        let version = ports.accounts.current.version
        let teams = try (0..<10).map { try Samples.team("TEAM00000\($0)") }
        let applied = await withTaskGroup(of: Team?.self) { group in
            for team in teams {
                group.addTask {
                    do throws(StoreError) {
                        _ = try await ports.accounts.apply(.createTeam(team), to: version)
                        return team
                    } catch {
                        #expect(error.code == .conflict)
                        return nil
                    }
                }
            }
            return await group.reduce(into: [Team]()) { $0 += [$1].compactMap(\.self) }
        }
        #expect(applied.count == 1)
        #expect(Array(ports.accounts.current.teams.values) == applied)
    }

    @Sendable
    private static func triesAgain(_ ports: Ports) async throws {
        let teams = try (10..<90).map { try Samples.team("TEAM0000\($0)") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for team in teams {
                group.addTask { _ = try await ports.accounts.apply(.createTeam(team)) }
            }
            try await group.waitForAll()
        }
        #expect(Set(ports.accounts.current.teams.values) == Set(teams))
    }

    @Sendable
    private static func refusalChangesNothing(_ ports: Ports) async throws {
        let team = try Samples.team()
        let before = try await ports.accounts.apply(.createTeam(team))
        await expectFailure(.exists) { _ = try await ports.accounts.apply(.createTeam(team)) }
        let after = ports.accounts.current
        #expect(after.version == before.version)
        #expect(after.teams == before.teams)
    }

    // MARK: What is there and what is not

    @Sendable
    private static func exists(_ ports: Ports) async throws {
        let (team, other) = (try Samples.team(), try Samples.team("TEAM000002"))
        let key = try Samples.key(of: team)
        let bundleID = try Samples.bundleID("com.example.app")
        for change in [
            .createTeam(team), .createTeam(other), .createApp(bundleID: bundleID, team: team.id), .createKey(key),
        ] as [AccountChange] {
            _ = try await ports.accounts.apply(change)
        }
        let again: [AccountChange] = [
            .createTeam(Team(id: team.id, name: "Another name")),
            .createApp(bundleID: bundleID, team: team.id),
            .createApp(bundleID: bundleID, team: other.id),
            .createKey(key),
        ]
        for change in again {
            await expectFailure(.exists) { _ = try await ports.accounts.apply(change) }
        }
    }

    @Sendable
    private static func createsApps(_ ports: Ports) async throws {
        let team = try Samples.team()
        _ = try await ports.accounts.apply(.createTeam(team))
        let first = try Samples.bundleID("com.example.first")
        let apps = try (0..<20).map { try Samples.bundleID("com.example.app\($0)") }
        let before = try await ports.accounts.apply(.createApp(bundleID: first, team: team.id))
        let made = try await ports.accounts.apply(.createApps(apps, team: team.id))
        #expect(made.version == before.version + 1)
        #expect(apps.allSatisfy { made.apps[$0]?.team == team.id })
        // The next app has a number that none of them has.
        let last = try Samples.bundleID("com.example.last")
        let all = try await ports.accounts.apply(.createApp(bundleID: last, team: team.id))
        #expect(Set(all.apps.values.map(\.id)).count == 22)
        let more = [try Samples.bundleID("com.example.more"), first]
        for refused in [more, [more[0], more[0]]] {
            await expectFailure(.exists) { _ = try await ports.accounts.apply(.createApps(refused, team: team.id)) }
        }
        #expect(ports.accounts.current == all)
    }

    @Sendable
    private static func switchesBroadcasts(_ ports: Ports) async throws {
        let team = try Samples.team()
        let bundleID = try Samples.bundleID("com.example.app")
        _ = try await ports.accounts.apply(.createTeam(team))
        let made = try await ports.accounts.apply(.createApp(bundleID: bundleID, team: team.id))
        let app = try #require(made.apps[bundleID])
        #expect(app.hasBroadcasts)
        let off = try await ports.accounts.apply(.setBroadcasts(bundleID, false))
        #expect(off.apps[bundleID]?.hasBroadcasts == false && off.app(app.id)?.hasBroadcasts == false)
        #expect(try await ports.accounts.apply(.setBroadcasts(bundleID, false)).version == off.version)
        let on = try await ports.accounts.apply(.setBroadcasts(bundleID, true))
        #expect(on.apps == made.apps && on.version > off.version)
        let other = try Samples.bundleID("com.example.other")
        await expectFailure(.missing) { _ = try await ports.accounts.apply(.setBroadcasts(other, false)) }
    }

    @Sendable
    private static func missesTeam(_ ports: Ports) async throws {
        let team = try Samples.team()
        let bundleID = try Samples.bundleID("com.example.app")
        let key = try Samples.key(of: team)
        for change in [.createApp(bundleID: bundleID, team: team.id), .createKey(key)] as [AccountChange] {
            await expectFailure(.missing) { _ = try await ports.accounts.apply(change) }
        }
    }

    @Sendable
    private static func missesKey(_ ports: Ports) async throws {
        let id = try Samples.key(of: Samples.team()).id
        await expectFailure(.missing) { _ = try await ports.accounts.apply(.revokeKey(id, at: Samples.moment)) }
    }

    @Sendable
    private static func appIDs(_ ports: Ports) async throws {
        let team = try Samples.team()
        _ = try await ports.accounts.apply(.createTeam(team))
        var seen: [BundleID: AppID] = [:]
        for index in 0..<10 {
            let bundleID = try Samples.bundleID("com.example.app\(index)")
            let accounts = try await ports.accounts.apply(.createApp(bundleID: bundleID, team: team.id))
            seen[bundleID] = try #require(accounts.apps[bundleID]).id
            #expect(accounts.apps.mapValues(\.id) == seen)
        }
        #expect(Set(seen.values).count == seen.count)
    }

    // MARK: Keys

    @Sendable
    private static func keyReadsBack(_ ports: Ports) async throws {
        let team = try Samples.team()
        _ = try await ports.accounts.apply(.createTeam(team))
        let sets: [Set<Environment>] = [[.development], [.production], [.development, .production]]
        for (index, environments) in sets.enumerated() {
            let id = try #require(KeyID(rawValue: "KEY000000\(index)"))
            let key = TeamKey(
                id: id,
                team: team.id,
                publicKey: (0..<65).map { UInt8($0) },
                environments: environments,
            )
            #expect(try await ports.accounts.apply(.createKey(key)).keys[id] == key)
        }
    }

    @Sendable
    private static func revokes(_ ports: Ports) async throws {
        let team = try Samples.team()
        var key = try Samples.key(of: team)
        _ = try await ports.accounts.apply(.createTeam(team))
        _ = try await ports.accounts.apply(.createKey(key))
        let accounts = try await ports.accounts.apply(.revokeKey(key.id, at: Samples.moment))
        key.revoked = Samples.moment
        #expect(accounts.keys == [key.id: key])
    }

    @Sendable
    private static func revokesAgain(_ ports: Ports) async throws {
        let team = try Samples.team()
        let key = try Samples.key(of: team)
        _ = try await ports.accounts.apply(.createTeam(team))
        _ = try await ports.accounts.apply(.createKey(key))
        _ = try await ports.accounts.apply(.revokeKey(key.id, at: Samples.moment))
        let accounts = try await ports.accounts.apply(.revokeKey(key.id, at: Samples.later))
        #expect(accounts.keys[key.id]?.revoked == Samples.moment)
    }

    @Sendable
    private static func revokedKeyStaysRevoked(_ ports: Ports) async throws {
        let team = try Samples.team()
        let key = try Samples.key(of: team)
        for change in [.createTeam(team), .createKey(key), .revokeKey(key.id, at: Samples.moment)] as [AccountChange] {
            _ = try await ports.accounts.apply(change)
        }
        let again = try Samples.key("KEY0000002", of: team)
        await expectFailure(.exists) { _ = try await ports.accounts.apply(.createKey(again)) }
        #expect(ports.accounts.current.keys.keys.map(\.self) == [key.id])
    }

    @Sendable
    private static func revokesBothIdentifiers(_ ports: Ports) async throws {
        let team = try Samples.team()
        let (first, second) = (try Samples.key(of: team), try Samples.key("KEY0000002", of: team))
        let third = try Samples.key("KEY0000003", of: team)
        let other = TeamKey(id: third.id, team: team.id, publicKey: [4, 5], environments: third.environments)
        for change in [.createTeam(team), .createKey(first), .createKey(second), .createKey(other)] as [AccountChange] {
            _ = try await ports.accounts.apply(change)
        }
        let accounts = try await ports.accounts.apply(.revokeKey(first.id, at: Samples.moment))
        #expect(accounts.keys[first.id]?.revoked == Samples.moment)
        #expect(accounts.keys[second.id]?.revoked == Samples.moment)
        #expect(accounts.keys[other.id]?.revoked == nil)
    }

    @Sendable
    private static func revokedKeyOutlivesTeam(_ ports: Ports) async throws {
        let team = try Samples.team()
        let key = try Samples.key(of: team)
        for change in [
            .createTeam(team), .createKey(key), .revokeKey(key.id, at: Samples.moment),
            .deleteTeam(team.id, at: Samples.later), .createTeam(team),
        ] as [AccountChange] {
            _ = try await ports.accounts.apply(change)
        }
        for id in ["KEY0000001", "KEY0000002"] {
            let again = try Samples.key(id, of: team)
            await expectFailure(.exists) { _ = try await ports.accounts.apply(.createKey(again)) }
        }
    }

    @Sendable
    private static func restrictedKeyReadsBack(_ ports: Ports) async throws {
        let (team, apps) = try await teamWithApps(ports)
        let id = try #require(KeyID(rawValue: "KEY0000001"))
        let key = TeamKey(
            id: id, team: team.id, publicKey: [4, 5], environments: [.production], bundleIDs: Set(apps))
        #expect(try await ports.accounts.apply(.createKey(key)).keys[id] == key)
    }

    @Sendable
    private static func restrictionNeedsApp(_ ports: Ports) async throws {
        let (_, apps) = try await teamWithApps(ports)
        let other = try Samples.team("TEAM000002")
        _ = try await ports.accounts.apply(.createTeam(other))
        let id = try #require(KeyID(rawValue: "KEY0000001"))
        let key = TeamKey(id: id, team: other.id, publicKey: [4], environments: [.production], bundleIDs: [apps[0]])
        await expectFailure(.missing) { _ = try await ports.accounts.apply(.createKey(key)) }
    }

    // MARK: Certificates and devices

    @Sendable
    private static func certificateReadsBack(_ ports: Ports) async throws {
        let (team, apps) = try await teamWithApps(ports)
        let sets: [Set<Environment>] = [[.development], [.production], [.development, .production]]
        for environments in sets {
            let certificate = Samples.certificate(team.id, apps[0], environments)
            let accounts = try await ports.accounts.apply(.createCertificate(certificate))
            #expect(accounts.certificates[certificate.serial] == certificate)
            #expect(accounts.trusts(certificate.serial))
        }
    }

    @Sendable
    private static func certificateNeedsApp(_ ports: Ports) async throws {
        let (team, apps) = try await teamWithApps(ports)
        let other = try Samples.team("TEAM000002")
        _ = try await ports.accounts.apply(.createTeam(other))
        for certificate in [
            Samples.certificate(other.id, apps[0], [.production]),
            Samples.certificate(team.id, try Samples.bundleID("com.example.none"), [.production]),
        ] {
            await expectFailure(.missing) { _ = try await ports.accounts.apply(.createCertificate(certificate)) }
        }
    }

    @Sendable
    private static func unknownIsNotTrusted(_ ports: Ports) async throws {
        let serial = Samples.certificate(try Samples.team().id, try Samples.bundleID("com.example.none"), []).serial
        #expect(!ports.accounts.current.trusts(serial))
    }

    @Sendable
    private static func topicsAreTheTeams(_ ports: Ports) async throws {
        let (team, _) = try await teamWithApps(ports)
        let other = try Samples.team("TEAM000002")
        _ = try await ports.accounts.apply(.createTeam(other))
        let topic = try Samples.bundleID("com.example.app.voip")
        await expectFailure(.exists) { _ = try await ports.accounts.apply(.createApp(bundleID: topic, team: other.id)) }
        _ = try await ports.accounts.apply(.createApp(bundleID: topic, team: team.id))
        let long = try Samples.bundleID("com.example.new.voip")
        _ = try await ports.accounts.apply(.createApp(bundleID: long, team: other.id))
        let base = try Samples.bundleID("com.example.new")
        await expectFailure(.exists) { _ = try await ports.accounts.apply(.createApp(bundleID: base, team: team.id)) }
    }

    @Sendable
    private static func revokesCertificate(_ ports: Ports) async throws {
        let (team, apps) = try await teamWithApps(ports)
        let certificate = Samples.certificate(team.id, apps[0], [.production])
        _ = try await ports.accounts.apply(.createCertificate(certificate))
        _ = try await ports.accounts.apply(.revokeCertificate(certificate.serial, at: Samples.moment))
        let accounts = try await ports.accounts.apply(.revokeCertificate(certificate.serial, at: Samples.later))
        #expect(accounts.certificates[certificate.serial]?.revoked == Samples.moment)
        #expect(!accounts.trusts(certificate.serial))
    }

    @Sendable
    private static func missesCertificate(_ ports: Ports) async throws {
        let serial = Samples.certificate(try Samples.team().id, try Samples.bundleID("com.example.none"), []).serial
        await expectFailure(.missing) {
            _ = try await ports.accounts.apply(.revokeCertificate(serial, at: Samples.moment))
        }
    }

    @Sendable
    private static func revokesDevice(_ ports: Ports) async throws {
        let device = DeviceKey(environment: .production, device: DeviceID(rawValue: 7))
        _ = try await ports.accounts.apply(.revokeDevice(device, at: Samples.moment))
        let accounts = try await ports.accounts.apply(.revokeDevice(device, at: Samples.later))
        #expect(accounts.revokedDevices == [device: Samples.moment])
    }

    private static func teamWithApps(_ ports: Ports) async throws -> (team: Team, apps: [BundleID]) {
        let team = try Samples.team()
        let apps = [try Samples.bundleID("com.example.app"), try Samples.bundleID("com.example.other")]
        _ = try await ports.accounts.apply(.createTeam(team))
        for app in apps { _ = try await ports.accounts.apply(.createApp(bundleID: app, team: team.id)) }
        return (team, apps)
    }

    // MARK: Changes

    @Sendable
    private static func changesBeginWithPresent(_ ports: Ports) async throws {
        let present = try await ports.accounts.apply(.createTeam(Samples.team()))
        var changes = ports.accounts.changes().makeAsyncIterator()
        let first = try #require(await changes.next())
        #expect(first.version == present.version)
        #expect(first.teams == present.teams)
    }

    @Sendable
    private static func changesFollow(_ ports: Ports) async throws {
        var changes = ports.accounts.changes().makeAsyncIterator()
        _ = await changes.next()
        for index in 1...5 {
            let applied = try await ports.accounts.apply(.createTeam(Samples.team("TEAM00000\(index)")))
            #expect(await changes.next()?.version == applied.version)
        }
    }

    @Sendable
    private static func changesSkip(_ ports: Ports) async throws {
        var changes = ports.accounts.changes().makeAsyncIterator()
        for index in 1...5 {
            _ = try await ports.accounts.apply(.createTeam(Samples.team("TEAM00000\(index)")))
        }
        #expect(await changes.next()?.version == ports.accounts.current.version)
    }

    @Sendable
    private static func changesForAll(_ ports: Ports) async throws {
        let streams = (0..<3).map { _ in ports.accounts.changes() }
        let applied = try await ports.accounts.apply(.createTeam(Samples.team()))
        for stream in streams {
            var changes = stream.makeAsyncIterator()
            #expect(await changes.next()?.version == applied.version)
        }
    }
}

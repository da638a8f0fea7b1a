import Delivery
import Notifications
import Storage
import Testing

/// Mailboxes of apps that keep more than one notification.
extension StoreContract {
    static let keptPromises: [Promise] = [
        Promise("an app keeps one notification until it is set to keep more", setsKeep),
        Promise("an app with an upstream keeps one", forwardedKeepsOne),
        Promise("a mailbox that keeps more has its notifications in the order of arrival", keepsInOrder),
        Promise(
            "a batch with several notifications for such a mailbox has them all, each with its version", keepsBatch),
        Promise("what such a mailbox keeps reads back as it was", keptReadsBack),
        Promise("beyond the number the oldest is dropped, and recorded", withLog: dropsOldest),
        Promise("beyond the bytes the oldest are dropped, and recorded", withLog: dropsByBytes),
        Promise("a collapse identifier removes the older one, and the newer one comes last", withLog: collapses),
        Promise("the same notification is kept once, at its first place", withLog: keepsOnce),
        Promise("different notifications with the same identifier are all kept", keepsSameIdentifier),
        Promise("each of them is removed by its own version", removesEach),
        Promise("each of them expires by itself", withLog: expiresEach),
        Promise("the newest that was kept before is the oldest of what is kept then", adoptsNewest),
        Promise("with a lower number the oldest are dropped, and recorded", withLog: fitsLower),
        Promise("an app that keeps one again has the newest", withLog: fitsOne),
        Promise("pages have every notification once, and name the apps that follow", readsInPages),
        Promise("contents are the newest of a mailbox that keeps more", keptContents),
        Promise("removing the app empties such a mailbox, and records it", withLog: endsKept),
        Promise("renewing the device's tokens empties such mailboxes", renewsKept),
        Promise("a deleted app's mailboxes are emptied", deletesKept),
        Promise("a listed device counts what such a mailbox keeps", listsKept),
        Promise("a shared store does not let a late notification remove or drop a newer one", leavesNewerKept),
        Promise("nothing is kept for an app that was removed", refusesKept),
        Promise("what is stored at the same time is kept in the order of the versions", keepsConcurrent),
    ]

    /// Makes an app that keeps this many on the sample device.
    private static func app(
        keeping keep: Int,
        number: Int = 1,
        on device: DeviceKey = Samples.device,
        _ ports: Ports,
    ) async throws -> Destination {
        let (team, bundleID) = (try Samples.team(), try Samples.bundleID("com.example.app\(number)"))
        if ports.accounts.current.teams.isEmpty { _ = try await ports.accounts.apply(.createTeam(team)) }
        _ = try await ports.accounts.apply(.createApp(bundleID: bundleID, team: team.id))
        if keep > 1 { _ = try await ports.accounts.apply(.setKeep(bundleID, keep)) }
        let app = try #require(ports.accounts.current.apps[bundleID]).id
        let destination = Destination(environment: device.environment, device: device.device, app: app)
        _ = try await ports.registrations.register(destination, tokenKeyID: 1, at: Samples.moment)
        return destination
    }

    private static func set(_ keep: Int, _ ports: Ports) async throws {
        _ = try await ports.accounts.apply(.setKeep(try Samples.bundleID("com.example.app1"), keep))
        while try await ports.mailboxes.fitMailboxes(limit: 2) == 2 {}
    }

    @discardableResult
    private static func store(
        _ ids: UInt64..., to destination: Destination, _ ports: Ports
    ) async throws
        -> [MailboxVersion]
    {
        var versions: [MailboxVersion] = []
        for id in ids { versions.append(try await storeOne(Samples.entry(destination, id: id), ports)) }
        return versions
    }

    /// On a slow machine another transaction may hold a mailbox for long. `Delivery` stores again then.
    private static func storeOne(_ entry: MailboxEntry, _ ports: Ports) async throws -> MailboxVersion {
        while true {
            let result = try #require(await ports.mailboxes.store([entry]).first)
            if case .failure(let error) = result, error.code == .locked { continue }
            return try result.get()
        }
    }

    private static func kept(_ ports: Ports, by device: DeviceKey = Samples.device) async throws -> [UInt64] {
        try await ports.mailboxes.entries(of: device).map(\.entry.notification.id.high)
    }

    private static func steps(_ log: RecordingLog) -> [DeliveryStep] { log.events.map(\.step) }

    private static func id(_ number: UInt64) -> NotificationID { Samples.entry(id: number).notification.id }

    @Sendable
    private static func setsKeep(_ ports: Ports) async throws {
        let destination = try await app(keeping: 1, ports)
        let bundleID = try Samples.bundleID("com.example.app1")
        #expect(ports.accounts.current.apps[bundleID]?.keep == 1)
        #expect(ports.accounts.current.keeping.isEmpty)
        try await store(1, 2, to: destination, ports)
        #expect(try await kept(ports) == [2])
        _ = try await ports.accounts.apply(.setKeep(bundleID, 1000))
        #expect(ports.accounts.current.apps[bundleID]?.keep == 1000)
        #expect(ports.accounts.current.keeping == [destination.app: 1000])
        _ = try await ports.accounts.apply(.deleteApp(bundleID, at: Samples.moment))
        #expect(ports.accounts.current.keeping.isEmpty)
    }

    @Sendable
    private static func forwardedKeepsOne(_ ports: Ports) async throws {
        _ = try await app(keeping: 10, ports)
        let bundleID = try Samples.bundleID("com.example.app1")
        let place = UpstreamPlace(bundleID: bundleID, environment: .production)
        _ = try await ports.accounts.apply(
            .setUpstream(
                AppUpstream(place: place, url: "https://h", credentials: .certificate, sealedCredentials: [3])))
        #expect(ports.accounts.current.apps[bundleID]?.keep == 1)
        await expectFailure(.conflict) { _ = try await ports.accounts.apply(.setKeep(bundleID, 2)) }
        _ = try await ports.accounts.apply(.setKeep(bundleID, 1))
        _ = try await ports.accounts.apply(.removeUpstream(place))
        _ = try await ports.accounts.apply(.setKeep(bundleID, 2))
        #expect(ports.accounts.current.apps[bundleID]?.keep == 2)
    }

    @Sendable
    private static func keepsInOrder(_ ports: Ports) async throws {
        let destination = try await app(keeping: 10, ports)
        let versions = try await store(5, 3, 9, 1, to: destination, ports)
        #expect(try await kept(ports) == [5, 3, 9, 1])
        #expect(versions == versions.sorted())
        #expect(Set(versions).count == 4)
        #expect(!versions.contains { !$0.isKept })
        #expect(try await ports.mailboxes.entries(of: Samples.device).map(\.version) == versions)
        // Another app of the device keeps its newest.
        let other = try await app(keeping: 1, number: 2, ports)
        try await store(20, 21, to: other, ports)
        #expect(Set(try await kept(ports)) == [5, 3, 9, 1, 21])
    }

    @Sendable
    private static func keepsBatch(_ ports: Ports) async throws {
        let (one, other) = (try await app(keeping: 10, ports), try await app(keeping: 1, number: 2, ports))
        let entries = [
            Samples.entry(one, id: 1), Samples.entry(other, id: 10), Samples.entry(one, id: 2),
            Samples.entry(other, id: 11), Samples.entry(one, id: 3),
        ]
        let versions = try await ports.mailboxes.store(entries).map { try $0.get() }
        let stored = try await ports.mailboxes.entries(of: Samples.device)
        let ofOne = stored.filter { $0.entry.destination == one }
        #expect(ofOne.map(\.entry.notification.id.high) == [1, 2, 3])
        #expect(ofOne.map(\.version) == [versions[0], versions[2], versions[4]])
        #expect(stored.filter { $0.entry.destination == other }.map(\.version) == [versions[3]])
    }

    @Sendable
    private static func keptReadsBack(_ ports: Ports) async throws {
        let destination = try await app(keeping: 100, ports)
        var expected: [StoredMailboxEntry] = []
        for (index, pushType) in PushType.allCases.enumerated() {
            var entry = Samples.entry(destination, id: UInt64(index))
            entry.notification.fields.topic = "com.example.app.voip"
            entry.notification.fields.pushType = pushType
            entry.notification.fields.activity = [nil, .one(ActivityID(high: 1, low: 2)), .start][index % 3]
            entry.notification.fields.priority = Priority.allCases[index % Priority.allCases.count]
            entry.notification.fields.expiration = [.at(.max - UInt64(index)), .unspecified][index % 2]
            entry.notification.fields.collapseID = CollapseIdentifier(
                rawValue: "\u{0}" + String(repeating: "é", count: 20) + "\(index)")
            entry.notification.fields.payload = Payload(
                stored: (0..<[0, 1, 4096, 5120][index % 4]).map { UInt8(truncatingIfNeeded: $0) }, contents: [.alert])
            entry.expires = Timestamp(milliseconds: .max)
            expected.append(StoredMailboxEntry(entry: entry, version: try await storeOne(entry, ports)))
        }
        #expect(try await ports.mailboxes.entries(of: Samples.device) == expected)
    }

    @Sendable
    private static func dropsOldest(_ ports: Ports, _ log: RecordingLog) async throws {
        let destination = try await app(keeping: 3, ports)
        try await store(1, 2, 3, to: destination, ports)
        #expect(log.events.isEmpty)
        try await store(4, to: destination, ports)
        _ = try await ports.mailboxes.store([5, 6].map { Samples.entry(destination, id: $0) }).map { try $0.get() }
        #expect(try await kept(ports) == [4, 5, 6])
        #expect(steps(log) == [.dropped, .dropped, .dropped])
        #expect(log.events.map(\.subject.id) == [id(1), id(2), id(3)])
        #expect(log.events.allSatisfy { $0.subject.topic == "com.example.app" })
    }

    @Sendable
    private static func dropsByBytes(_ ports: Ports, _ log: RecordingLog) async throws {
        let destination = try await app(keeping: 1000, ports)
        let size = Payload.maximumVoIPBytes
        let most = MailboxBound.maximumBytes / size
        let entries = (1...UInt64(most + 2)).map { id in
            var entry = Samples.entry(destination, id: id)
            entry.notification.fields.payload = Payload(stored: [UInt8](repeating: 32, count: size), contents: [])
            return entry
        }
        for part in stride(from: 0, to: entries.count, by: 100) {
            _ = try await ports.mailboxes.store(Array(entries[part..<min(part + 100, entries.count)])).map {
                try $0.get()
            }
        }
        #expect(try await kept(ports) == Array(3...UInt64(most + 2)))
        #expect(log.events.map(\.subject.id) == [id(1), id(2)])
        #expect(steps(log) == [.dropped, .dropped])
    }

    private static func entry(_ id: UInt64, _ collapseID: String, to destination: Destination) -> MailboxEntry {
        var entry = Samples.entry(destination, id: id)
        entry.notification.fields.collapseID = CollapseIdentifier(rawValue: collapseID)
        return entry
    }

    @Sendable
    private static func collapses(_ ports: Ports, _ log: RecordingLog) async throws {
        let destination = try await app(keeping: 3, ports)
        _ = try await storeOne(entry(1, "a", to: destination), ports)
        _ = try await storeOne(entry(2, "b", to: destination), ports)
        try await store(3, to: destination, ports)
        // The mailbox is full, but this one takes the place of another.
        _ = try await storeOne(entry(4, "a", to: destination), ports)
        #expect(try await kept(ports) == [2, 3, 4])
        #expect(steps(log) == [.coalesced(into: id(4))])
        #expect(log.events.map(\.subject.id) == [id(1)])
        _ = try await storeOne(entry(5, "A", to: destination), ports)
        #expect(try await kept(ports) == [3, 4, 5])
        #expect(steps(log).last == .dropped)
    }

    @Sendable
    private static func keepsOnce(_ ports: Ports, _ log: RecordingLog) async throws {
        let destination = try await app(keeping: 3, ports)
        let versions = try await store(1, 2, 3, to: destination, ports)
        var again = Samples.entry(destination, id: 2)
        again.age = .seconds(3600)
        #expect(try await storeOne(again, ports) == versions[1])
        #expect(try await storeOne(Samples.entry(destination, id: 1), ports) == versions[0])
        #expect(try await kept(ports) == [1, 2, 3])
        #expect(log.events.isEmpty)
        // With a collapse identifier too.
        let version = try await storeOne(entry(4, "a", to: destination), ports)
        #expect(try await storeOne(entry(4, "a", to: destination), ports) == version)
        #expect(try await kept(ports) == [2, 3, 4])
    }

    @Sendable
    private static func keepsSameIdentifier(_ ports: Ports) async throws {
        let destination = try await app(keeping: 3, ports)
        var other = Samples.entry(destination, id: 1)
        other.notification.fields.payload = Payload(stored: Array("{}".utf8), contents: [])
        let first = try await storeOne(Samples.entry(destination, id: 1), ports)
        let second = try await storeOne(other, ports)
        #expect(first < second)
        #expect(try await kept(ports) == [1, 1])
    }

    @Sendable
    private static func removesEach(_ ports: Ports) async throws {
        let (destination, other) = (try await app(keeping: 10, ports), try await app(keeping: 1, number: 2, ports))
        let versions = try await store(1, 2, 3, to: destination, ports)
        let newest = try await store(9, to: other, ports)[0]
        func remove(_ version: MailboxVersion, _ destination: Destination) async throws -> MailboxRemoval {
            let reference = MailboxReference(destination: destination, version: version)
            return try #require(await ports.mailboxes.remove([reference]).first).get()
        }
        #expect(try await remove(versions[1], destination) == .removed)
        #expect(try await remove(versions[1], destination) == .superseded)
        #expect(try await remove(versions[1], other) == .superseded)
        #expect(Set(try await kept(ports)) == [1, 3, 9])
        let results = await ports.mailboxes.remove([
            MailboxReference(destination: destination, version: versions[2]),
            MailboxReference(destination: other, version: newest),
            MailboxReference(destination: destination, version: versions[0]),
        ])
        #expect(try results.map { try $0.get() } == [.removed, .removed, .removed])
        #expect(try await kept(ports).isEmpty)
        #expect(try await store(4, to: destination, ports)[0] > versions[2])
    }

    @Sendable
    private static func expiresEach(_ ports: Ports, _ log: RecordingLog) async throws {
        let destination = try await app(keeping: 10, ports)
        for (number, expires) in [(1, Samples.later), (2, Samples.muchLater), (3, Samples.later)]
            as [(UInt64, Timestamp)]
        {
            _ = try await storeOne(Samples.entry(destination, id: number, expires: expires), ports)
        }
        let moment = Samples.later.advanced(by: .milliseconds(1))
        #expect(try await ports.mailboxes.removeExpired(before: Samples.later, limit: 10) == 0)
        #expect(try await ports.mailboxes.removeExpired(before: moment, limit: 1) == 1)
        #expect(try await ports.mailboxes.removeExpired(before: moment, limit: 10) == 1)
        #expect(try await kept(ports) == [2])
        #expect(Set(log.events.map(\.subject.id)) == [id(1), id(3)])
        #expect(steps(log) == [.expired, .expired])
    }

    @Sendable
    private static func adoptsNewest(_ ports: Ports) async throws {
        let destination = try await app(keeping: 1, ports)
        let first = try await store(1, 2, to: destination, ports)[1]
        try await set(2, ports)
        try await store(3, to: destination, ports)
        #expect(try await kept(ports) == [2, 3])
        // The device acknowledges what it got before.
        let results = await ports.mailboxes.remove([MailboxReference(destination: destination, version: first)])
        #expect(try results.map { try $0.get() } == [.removed])
        #expect(try await kept(ports) == [3])
    }

    @Sendable
    private static func fitsLower(_ ports: Ports, _ log: RecordingLog) async throws {
        let destination = try await app(keeping: 10, ports)
        let other = Destination(
            environment: .development, device: Samples.twin.device, app: destination.app)
        _ = try await ports.registrations.register(other, tokenKeyID: 1, at: Samples.moment)
        try await store(1, 2, 3, 4, 5, to: destination, ports)
        try await store(6, 7, 8, to: other, ports)
        try await set(2, ports)
        #expect(try await kept(ports) == [4, 5])
        #expect(try await kept(ports, by: Samples.twin) == [7, 8])
        #expect(steps(log) == Array(repeating: .dropped, count: 4))
        #expect(Set(log.events.map(\.subject.id)) == [id(1), id(2), id(3), id(6)])
        // More again keeps what comes.
        try await set(3, ports)
        try await store(9, to: destination, ports)
        #expect(try await kept(ports) == [4, 5, 9])
    }

    @Sendable
    private static func fitsOne(_ ports: Ports, _ log: RecordingLog) async throws {
        let destination = try await app(keeping: 10, ports)
        let versions = try await store(1, 2, 3, to: destination, ports)
        try await set(1, ports)
        #expect(try await kept(ports) == [3])
        #expect(Set(log.events.map(\.subject.id)) == [id(1), id(2)])
        #expect(steps(log) == [.dropped, .dropped])
        // The device acknowledges what it got before.
        let results = await ports.mailboxes.remove([MailboxReference(destination: destination, version: versions[2])])
        #expect(try results.map { try $0.get() } == [.removed])
        #expect(try await kept(ports).isEmpty)
        try await store(4, 5, to: destination, ports)
        #expect(try await kept(ports) == [5])
        #expect(steps(log).last == .replaced(by: id(5)))
    }

    @Sendable
    private static func readsInPages(_ ports: Ports) async throws {
        let (one, other) = (try await app(keeping: 1000, ports), try await app(keeping: 1000, number: 2, ports))
        let plain = try await app(keeping: 1, number: 3, ports)
        let count = UInt64(MailboxBound.pageCount)
        let entries = (1...count + 20).map { Samples.entry($0 <= count + 10 ? one : other, id: $0) }
        _ = try await ports.mailboxes.store(entries).map { try $0.get() }
        try await store(1000, to: plain, ports)
        let first = try await ports.mailboxes.page(of: Samples.device, after: nil)
        #expect(first.entries.count(where: \.version.isKept) == MailboxBound.pageCount)
        #expect(first.following == [one.mailbox, other.mailbox])
        let last = try #require(first.last)
        let second = try await ports.mailboxes.page(of: Samples.device, after: last)
        #expect(second.last == nil)
        #expect(second.following.isEmpty)
        let ids = (first.entries + second.entries).filter(\.version.isKept).map(\.entry.notification.id.high)
        #expect(ids.count == entries.count)
        #expect(Set(ids) == Set(1...count + 20))
        for destination in [one, other] {
            let own = (first.entries + second.entries).filter { $0.entry.destination == destination }.map(\.version)
            #expect(own == own.sorted())
        }
        #expect(first.entries.contains { $0.entry.destination == plain })
    }

    @Sendable
    private static func keptContents(_ ports: Ports) async throws {
        let destination = try await app(keeping: 10, ports)
        try await store(1, 2, 3, to: destination, ports)
        let contents = await ports.mailboxes.contents(of: [Samples.destination(app: 900), destination])
        #expect(try contents.map { try $0.get().map(\.entry.notification.id.high) } == [[], [1, 2, 3]])
    }

    @Sendable
    private static func endsKept(_ ports: Ports, _ log: RecordingLog) async throws {
        let destination = try await app(keeping: 10, ports)
        try await store(1, 2, to: destination, ports)
        _ = try await ports.registrations.end(destination, at: Samples.later)
        #expect(try await kept(ports).isEmpty)
        #expect(steps(log) == [.discarded(.unregistered), .discarded(.unregistered)])
        _ = try await ports.registrations.register(destination, tokenKeyID: 1, at: Samples.muchLater)
        #expect(try await kept(ports).isEmpty)
    }

    @Sendable
    private static func renewsKept(_ ports: Ports) async throws {
        let destination = try await app(keeping: 10, ports)
        try await store(1, 2, to: destination, ports)
        try await ports.registrations.renewTokens(of: Samples.device, tokenKeyID: 2, at: Samples.later)
        #expect(try await kept(ports).isEmpty)
    }

    @Sendable
    private static func deletesKept(_ ports: Ports) async throws {
        let destination = try await app(keeping: 10, ports)
        try await store(1, 2, to: destination, ports)
        _ = try await ports.accounts.apply(.deleteApp(try Samples.bundleID("com.example.app1"), at: Samples.later))
        while try await ports.registrations.removeOrphaned(limit: 10) > 0 {}
        #expect(try await kept(ports).isEmpty)
    }

    @Sendable
    private static func listsKept(_ ports: Ports) async throws {
        let destination = try await app(keeping: 10, ports)
        try await store(1, 2, 3, to: destination, ports)
        let listed = try await ports.registrations.devices(in: .production, after: nil, limit: 10)
        #expect(listed.flatMap(\.apps).map(\.kept) == [3])
        #expect(listed.flatMap(\.apps).map(\.stored) == [nil])
    }

    /// A store of one process has no other that could have stored something meanwhile.
    @Sendable
    private static func leavesNewerKept(_ ports: Ports) async throws {
        let destination = try await app(keeping: 2, ports)
        func store(_ id: UInt64, _ collapseID: String, waited: Duration?) async -> Result<MailboxVersion, StoreError> {
            var entry = entry(id, collapseID, to: destination)
            entry.waited = waited
            return await ports.mailboxes.store([entry])[0]
        }
        let isShared = ports.mailboxes.isShared
        _ = try await store(1, "a", waited: .zero).get()
        // It removes nothing, so it may be late.
        _ = try await store(2, "b", waited: .seconds(3600)).get()
        #expect(try await kept(ports) == [1, 2])
        // It would remove what may be newer, or have it dropped.
        for (number, collapseID) in [(3, "a"), (4, "c")] as [(UInt64, String)] {
            let late = await store(number, collapseID, waited: .seconds(3600))
            if isShared { #expect(late == .failure(.overtaken)) } else { _ = try late.get() }
        }
        if isShared { #expect(try await kept(ports) == [1, 2]) }
        // What was accepted after the answer is never refused.
        for id in 5...20 as ClosedRange<UInt64> { _ = try await store(id, "c", waited: .zero).get() }
        #expect(try await kept(ports).last == 20)
    }

    @Sendable
    private static func refusesKept(_ ports: Ports) async throws {
        let (destination, other) = (try await app(keeping: 10, ports), try await app(keeping: 10, number: 2, ports))
        _ = try await ports.registrations.end(destination, at: Samples.later)
        let results = await ports.mailboxes.store([
            Samples.entry(destination, id: 1), Samples.entry(other, id: 2),
            Samples.entry(Destination(environment: .production, device: DeviceID(rawValue: 77), app: other.app), id: 3),
        ])
        #expect(results[0] == .failure(.ended(at: Samples.later)))
        _ = try results[1].get()
        await expectEnded { _ = try results[2].get() }
        #expect(try await kept(ports) == [2])
    }

    @Sendable
    private static func keepsConcurrent(_ ports: Ports) async throws {
        let destination = try await app(keeping: 1000, ports)
        let versions = try await withThrowingTaskGroup(of: [(UInt64, MailboxVersion)].self) { group in
            for part in 0..<8 as Range<UInt64> {
                group.addTask {
                    var versions: [(UInt64, MailboxVersion)] = []
                    for number in 1...10 as ClosedRange<UInt64> {
                        let id = part * 100 + number
                        versions.append((id, try await storeOne(Samples.entry(destination, id: id), ports)))
                    }
                    return versions
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(versions.map(\.1)).count == 80)
        #expect(try await kept(ports) == versions.sorted { $0.1 < $1.1 }.map(\.0))
    }
}

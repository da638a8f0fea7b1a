import Delivery
import Notifications
import Storage
import Testing

extension StoreContract {
    static let mailboxPromises: [Promise] = [
        Promise("an empty mailbox contains nothing", registering: holdsNothing),
        Promise("a stored notification reads back as it was", registering: readsBack),
        Promise("missing values read back as missing", registering: readsBackUnsaid),
        Promise("a payload of any size reads back", registering: readsBackSizes),
        Promise("a newer notification replaces the older one", registering: replaces),
        Promise("a batch has a result for each item, in its order", registering: batchHasResults),
        Promise("an empty batch has no results", registering: emptyBatch),
        Promise("of several items for one destination, the last one in the batch stays", registering: lastOfBatchStays),
        Promise("a later batch is stored later", registering: laterBatchStays),
        Promise("entries are read with the oldest version first", registering: oldestFirst),
        Promise("only the entries of the device in its environment are read", registering: entriesOfDevice),
        Promise("mailboxes of several devices are read together, in the order of the request", registering: contents),
        Promise("a read sees everything that was answered before it", registering: answeredIsSeen),
        Promise("storing the same notification again does no harm", registering: storingAgain),
        Promise(
            "a shared store leaves what it has stored since a notification was accepted, and replaces what it had before",
            registering: leavesNewer),
        Promise("a version is never used again for its destination", registering: versionsAreUnique),
        Promise("removing the present version empties the mailbox", registering: removes),
        Promise("removing an older version does not remove the newer notification", registering: removalSuperseded),
        Promise("removing from an empty mailbox has the result superseded", registering: removesTwice),
        Promise("a batch of removals has a result for each item, in its order", registering: removalResults),
        Promise("only notifications that expired before the given time are removed", registering: removesExpired),
        Promise(
            "the expired notifications of one app are removed, if no other node uses the store",
            registering: removesExpiredOfApp),
        Promise(
            "at most the limit is removed at a time, and fewer at the end", registering: removesExpiredInSteps),
        Promise("an expired notification can still be read and replaced", registering: replacesExpired),
        Promise("a mailbox that is filled again expires with its new contents", registering: refillsBeforeExpiring),
        Promise("a mailbox whose new contents expire earlier expires with them", registering: expiresEarlierThanBefore),
        Promise(
            "expired notifications are found among many that were replaced or removed",
            registering: findsExpiredAmongOthers),
        Promise("concurrent callers get their own results", registering: concurrentCallers),
        Promise(
            "a late removal never removes a notification that was stored meanwhile", registering: removesWhileStoring),
        Promise("nothing is stored for an app that never registered", refusesStrangers),
        Promise("nothing is stored for a removed app, and the error has the time of the removal", refusesRemoved),
        Promise("an item that is refused does not affect the others, and replaces nothing", refusesItems),
        Promise("if an app is removed while notifications arrive, none of them stays", endsWhileStoring),
        Promise("if a device's tokens are renewed while notifications arrive, none of them stays", renewsWhileStoring),
    ]

    // MARK: Storing

    /// A store of one process has no other that could have stored something meanwhile.
    @Sendable
    private static func leavesNewer(_ ports: Ports) async throws {
        func store(_ id: UInt64, waited: Duration?) async -> Result<MailboxVersion, StoreError> {
            var entry = Samples.entry(id: id)
            entry.waited = waited
            return await ports.mailboxes.store([entry])[0]
        }
        func stored() async throws -> [NotificationID] {
            try await ports.mailboxes.entries(of: Samples.device).map(\.entry.notification.id)
        }
        let isShared = ports.mailboxes.isShared
        // An empty mailbox takes it, and so does one that has the same notification.
        for _ in 1...2 { _ = try await store(1, waited: .seconds(3600)).get() }
        _ = try await store(2, waited: .zero).get()
        let late = await store(1, waited: .seconds(3600))
        if isShared { #expect(late == .failure(.overtaken)) } else { _ = try late.get() }
        #expect(try await stored() == [Samples.entry(id: isShared ? 2 : 1).notification.id])
        // What was accepted after the answer is never refused.
        for id in 3...50 as ClosedRange<UInt64> { _ = try await store(id, waited: .zero).get() }
        // What may have been stored before goes by its age, and what has neither is stored.
        _ = try await store(51, waited: nil).get()
        #expect(try await stored() == [Samples.entry(id: 51).notification.id])
    }

    @Sendable
    private static func holdsNothing(_ ports: Ports) async throws {
        #expect(try await ports.mailboxes.entries(of: Samples.device).isEmpty)
    }

    @Sendable
    private static func readsBack(_ ports: Ports) async throws {
        for (index, pushType) in PushType.allCases.enumerated() {
            var entry = Samples.entry(id: UInt64(index))
            entry.notification.fields.topic = "com.example.app.voip"
            entry.notification.fields.pushType = pushType
            entry.notification.fields.activity =
                [nil, .one(ActivityID(high: 1, low: UInt64(index))), .start][index % 3]
            entry.notification.fields.priority = Priority.allCases[index % Priority.allCases.count]
            entry.notification.fields.expiration = .at(.max - UInt64(index))
            entry.notification.fields.collapseID = CollapseIdentifier(rawValue: String(repeating: "é", count: 32))
            entry.notification.fields.id = NotificationID(high: .max - UInt64(index), low: 0)
            entry.expires = Timestamp(milliseconds: .max)
            let version = try #require(await ports.mailboxes.store([entry]).first).get()
            let stored = StoredMailboxEntry(entry: entry, version: version)
            #expect(try await ports.mailboxes.entries(of: Samples.device) == [stored])
        }
    }

    @Sendable
    private static func contents(_ ports: Ports) async throws {
        let destinations = [
            Samples.destination(Samples.twin, app: 2), Samples.destination(app: 3), Samples.destination(app: 1),
            Samples.destination(Samples.twin, app: 1),
        ]
        let entries = [destinations[2], destinations[0]].map { Samples.entry($0, id: UInt64($0.app.rawValue)) }
        let versions = try await ports.mailboxes.store(entries).map { try $0.get() }
        let found = try await ports.mailboxes.contents(of: destinations).map { try $0.get() }
        #expect(
            found == [
                [StoredMailboxEntry(entry: entries[1], version: versions[1])], [],
                [StoredMailboxEntry(entry: entries[0], version: versions[0])], [],
            ])
        #expect(await ports.mailboxes.contents(of: []).isEmpty)
    }

    @Sendable
    private static func readsBackUnsaid(_ ports: Ports) async throws {
        for expiration in [Expiration.unspecified, .immediately, .at(1)] {
            var entry = Samples.entry()
            entry.notification.fields.expiration = expiration
            _ = await ports.mailboxes.store([entry])
            #expect(try await ports.mailboxes.entries(of: Samples.device).map(\.entry) == [entry])
        }
    }

    @Sendable
    private static func readsBackSizes(_ ports: Ports) async throws {
        for size in [0, 1, 1000, Payload.maximumBytes, Payload.maximumVoIPBytes] {
            var entry = Samples.entry()
            let json = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
            entry.notification.fields.payload = Payload(stored: json, contents: [.alert, .contentAvailable])
            _ = await ports.mailboxes.store([entry])
            #expect(try await ports.mailboxes.entries(of: Samples.device).map(\.entry) == [entry])
        }
    }

    @Sendable
    private static func replaces(_ ports: Ports) async throws {
        let (older, newer) = (Samples.entry(id: 1), Samples.entry(id: 2))
        _ = await ports.mailboxes.store([older])
        _ = await ports.mailboxes.store([newer])
        #expect(try await ports.mailboxes.entries(of: Samples.device).map(\.entry) == [newer])
    }

    @Sendable
    private static func batchHasResults(_ ports: Ports) async throws {
        let entries = (1...100).map { Samples.entry(Samples.destination(app: $0), id: UInt64($0)) }
        let versions = try await ports.mailboxes.store(entries).map { try $0.get() }
        let stored = try await ports.mailboxes.entries(of: Samples.device)
        #expect(Set(stored) == Set(zip(entries, versions).map(StoredMailboxEntry.init)))
        #expect(versions.count == entries.count)
    }

    @Sendable
    private static func emptyBatch(_ ports: Ports) async throws {
        #expect(await ports.mailboxes.store([]).isEmpty)
        #expect(await ports.mailboxes.remove([]).isEmpty)
    }

    @Sendable
    private static func lastOfBatchStays(_ ports: Ports) async throws {
        let entries = (1...10).map { Samples.entry(id: $0) }
        let versions = try await ports.mailboxes.store(entries).map { try $0.get() }
        let last = StoredMailboxEntry(entry: entries[9], version: versions[9])
        #expect(try await ports.mailboxes.entries(of: Samples.device) == [last])
    }

    @Sendable
    private static func laterBatchStays(_ ports: Ports) async throws {
        for id in 1...50 as ClosedRange<UInt64> {
            _ = await ports.mailboxes.store([Samples.entry(id: id), Samples.entry(Samples.destination(app: 2), id: id)])
            let stored = try await ports.mailboxes.entries(of: Samples.device)
            #expect(stored.map(\.entry.notification.id.high) == [id, id])
        }
    }

    @Sendable
    private static func oldestFirst(_ ports: Ports) async throws {
        // Store them one after the other, because the destinations of one batch have no order.
        for app in [3, 1, 2, 3] as [UInt32] {
            _ = await ports.mailboxes.store([Samples.entry(Samples.destination(app: app))])
        }
        let apps = try await ports.mailboxes.entries(of: Samples.device).map(\.entry.destination.app.rawValue)
        #expect(apps == [1, 2, 3])
    }

    @Sendable
    private static func entriesOfDevice(_ ports: Ports) async throws {
        let devices = [Samples.device, Samples.otherDevice, Samples.twin]
        _ = await ports.mailboxes.store(devices.map { Samples.entry(Samples.destination($0)) })
        for device in devices {
            #expect(try await ports.mailboxes.entries(of: device).map(\.entry.destination.deviceKey) == [device])
        }
    }

    @Sendable
    private static func answeredIsSeen(_ ports: Ports) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...8 as ClosedRange<UInt64> {
                group.addTask {
                    let device = DeviceKey(environment: .production, device: DeviceID(rawValue: number))
                    for id in 1...20 as ClosedRange<UInt64> {
                        _ = await ports.mailboxes.store([Samples.entry(Samples.destination(device), id: id)])
                        let seen = try await ports.mailboxes.entries(of: device).map(\.entry.notification.id.high)
                        #expect(seen == [id])
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Sendable
    private static func storingAgain(_ ports: Ports) async throws {
        let entry = Samples.entry()
        _ = await ports.mailboxes.store([entry])
        let version = try #require(await ports.mailboxes.store([entry]).first).get()
        let stored = StoredMailboxEntry(entry: entry, version: version)
        #expect(try await ports.mailboxes.entries(of: Samples.device) == [stored])
    }

    @Sendable
    private static func versionsAreUnique(_ ports: Ports) async throws {
        var versions: Set<MailboxVersion> = []
        let destination = Samples.destination()
        for id in 1...50 as ClosedRange<UInt64> {
            let version = try #require(await ports.mailboxes.store([Samples.entry(id: id)]).first).get()
            #expect(versions.insert(version).inserted)
            // A version must not be used again, even after the mailbox was emptied or the registration ended.
            if id % 3 == 0 {
                _ = await ports.mailboxes.remove([MailboxReference(destination: destination, version: version)])
            }
            if id % 5 == 0 {
                _ = try await ports.registrations.end(destination, at: Samples.later)
                _ = try await ports.registrations.register(destination, tokenKeyID: 1, at: Samples.moment)
            }
        }
    }

    // MARK: Whether the app is there

    @Sendable
    private static func refusesStrangers(_ ports: Ports) async throws {
        for result in await ports.mailboxes.store([Samples.entry()]) {
            await expectEnded { _ = try result.get() }
        }
        _ = try await ports.registrations.register(Samples.destination(app: 2), tokenKeyID: 1, at: Samples.moment)
        #expect(try await ports.mailboxes.entries(of: Samples.device).isEmpty)
    }

    @Sendable
    private static func refusesRemoved(_ ports: Ports) async throws {
        let destination = Samples.destination()
        _ = try await ports.registrations.register(destination, tokenKeyID: 1, at: Samples.moment)
        _ = try await ports.registrations.end(destination, at: Samples.later)
        for result in await ports.mailboxes.store([Samples.entry()]) {
            await expectFailure(.ended(at: Samples.later)) { _ = try result.get() }
        }
        _ = try await ports.registrations.register(destination, tokenKeyID: 1, at: Samples.muchLater)
        #expect(try await ports.mailboxes.entries(of: Samples.device).isEmpty)
    }

    @Sendable
    private static func refusesItems(_ ports: Ports) async throws {
        let destinations = (1...3).map { Samples.destination(app: $0) }
        for destination in destinations {
            _ = try await ports.registrations.register(destination, tokenKeyID: 1, at: Samples.moment)
        }
        _ = try await ports.registrations.end(destinations[1], at: Samples.later)
        let results = await ports.mailboxes.store(destinations.map { Samples.entry($0) })
        #expect(results.map { (try? $0.get()) != nil } == [true, false, true])
        let stored = try await ports.mailboxes.entries(of: Samples.device).map(\.entry.destination)
        #expect(Set(stored) == [destinations[0], destinations[2]])
    }

    /// Stores notifications one after the other while `body` runs.
    private static func storing(in ports: Ports, _ body: () async throws -> Void) async throws {
        let destination = Samples.destination()
        for _ in 0..<20 {
            _ = try await ports.registrations.register(destination, tokenKeyID: 1, at: Samples.moment)
            async let storing: Void = {
                for id in 1...10 as ClosedRange<UInt64> { _ = await ports.mailboxes.store([Samples.entry(id: id)]) }
            }()
            try await body()
            await storing
            #expect(try await ports.mailboxes.entries(of: Samples.device).isEmpty)
        }
    }

    @Sendable
    private static func endsWhileStoring(_ ports: Ports) async throws {
        try await storing(in: ports) {
            _ = try await ports.registrations.end(Samples.destination(), at: Samples.later)
        }
    }

    @Sendable
    private static func renewsWhileStoring(_ ports: Ports) async throws {
        try await storing(in: ports) {
            try await ports.registrations.renewTokens(of: Samples.device, tokenKeyID: 1, at: Samples.later)
        }
    }

    // MARK: Removing

    @Sendable
    private static func removes(_ ports: Ports) async throws {
        let version = try #require(await ports.mailboxes.store([Samples.entry()]).first).get()
        let reference = MailboxReference(destination: Samples.destination(), version: version)
        #expect(await ports.mailboxes.remove([reference]) == [.success(.removed)])
        #expect(try await ports.mailboxes.entries(of: Samples.device).isEmpty)
    }

    @Sendable
    private static func removalSuperseded(_ ports: Ports) async throws {
        let newer = Samples.entry(id: 2)
        let version = try #require(await ports.mailboxes.store([Samples.entry(id: 1)]).first).get()
        _ = await ports.mailboxes.store([newer])
        let reference = MailboxReference(destination: Samples.destination(), version: version)
        #expect(await ports.mailboxes.remove([reference]) == [.success(.superseded)])
        #expect(try await ports.mailboxes.entries(of: Samples.device).map(\.entry) == [newer])
    }

    @Sendable
    private static func removesTwice(_ ports: Ports) async throws {
        let version = try #require(await ports.mailboxes.store([Samples.entry()]).first).get()
        let reference = MailboxReference(destination: Samples.destination(), version: version)
        _ = await ports.mailboxes.remove([reference])
        #expect(await ports.mailboxes.remove([reference]) == [.success(.superseded)])
    }

    @Sendable
    private static func removalResults(_ ports: Ports) async throws {
        let destinations = (1...3).map { Samples.destination(app: $0) }
        var references: [MailboxReference] = []
        for destination in destinations {
            let version = try #require(await ports.mailboxes.store([Samples.entry(destination)]).first).get()
            references.append(MailboxReference(destination: destination, version: version))
        }
        _ = await ports.mailboxes.store([Samples.entry(destinations[1], id: 2)])
        let results = await ports.mailboxes.remove(references)
        #expect(results == [.success(.removed), .success(.superseded), .success(.removed)])
    }

    @Sendable
    private static func removesWhileStoring(_ ports: Ports) async throws {
        for _ in 0..<30 {
            let version = try #require(await ports.mailboxes.store([Samples.entry(id: 1)]).first).get()
            async let removal = ports.mailboxes.remove([
                MailboxReference(destination: Samples.destination(), version: version)
            ])
            _ = await ports.mailboxes.store([Samples.entry(id: 2)])
            _ = await removal
            let held = try await ports.mailboxes.entries(of: Samples.device).map(\.entry.notification.id.high)
            #expect(held == [2])
        }
    }

    // MARK: Expiring

    @Sendable
    private static func removesExpired(_ ports: Ports) async throws {
        let moment = Samples.later
        let before = Samples.entry(
            Samples.destination(app: 1), expires: Timestamp(milliseconds: moment.milliseconds - 1))
        let at = Samples.entry(Samples.destination(app: 2), expires: moment)
        let never = Samples.entry(Samples.destination(app: 3), expires: Timestamp(milliseconds: .max))
        _ = await ports.mailboxes.store([before, at, never])
        #expect(try await ports.mailboxes.removeExpired(before: moment, limit: 10) == 1)
        let apps = try await ports.mailboxes.entries(of: Samples.device).map(\.entry.destination.app.rawValue)
        #expect(Set(apps) == [2, 3])
    }

    @Sendable
    private static func removesExpiredOfApp(_ ports: Ports) async throws {
        let moment = Samples.later
        let destinations = [Samples.destination(app: 1), Samples.destination(app: 2)]
        _ = await ports.mailboxes.store(destinations.map { Samples.entry($0, expires: Samples.moment) })
        let removed = try await ports.mailboxes.removeExpired(before: moment, of: destinations[0].app, limit: 10)
        let left = try await ports.mailboxes.entries(of: Samples.device).map(\.entry.destination.app)
        // Nodes that share a store have the machine's clock.
        #expect(removed == (ports.mailboxes.isShared ? 0 : 1))
        #expect(Set(left) == Set((ports.mailboxes.isShared ? destinations : [destinations[1]]).map(\.app)))
        #expect(
            try await ports.mailboxes.removeExpired(before: .init(milliseconds: 0), of: destinations[1].app, limit: 10)
                == 0)
    }

    @Sendable
    private static func removesExpiredInSteps(_ ports: Ports) async throws {
        _ = await ports.mailboxes.store(
            (1...7).map { Samples.entry(Samples.destination(app: $0), expires: Samples.moment) })
        var removed: [Int] = []
        for _ in 0..<4 {
            removed.append(try await ports.mailboxes.removeExpired(before: Samples.later, limit: 3))
        }
        #expect(removed == [3, 3, 1, 0])
    }

    @Sendable
    private static func replacesExpired(_ ports: Ports) async throws {
        let newer = Samples.entry(id: 2)
        _ = await ports.mailboxes.store([Samples.entry(expires: Samples.moment)])
        _ = await ports.mailboxes.store([newer])
        #expect(try await ports.mailboxes.removeExpired(before: Samples.later, limit: 10) == 0)
        #expect(try await ports.mailboxes.entries(of: Samples.device).map(\.entry) == [newer])
    }

    @Sendable
    private static func refillsBeforeExpiring(_ ports: Ports) async throws {
        let (first, second) = (Samples.entry(expires: Samples.moment), Samples.entry(id: 2, expires: Samples.later))
        let version = try #require(await ports.mailboxes.store([first]).first).get()
        _ = await ports.mailboxes.remove([MailboxReference(destination: first.destination, version: version)])
        _ = await ports.mailboxes.store([second])
        #expect(try await ports.mailboxes.removeExpired(before: Samples.later, limit: 10) == 0)
        #expect(try await ports.mailboxes.entries(of: Samples.device).map(\.entry) == [second])
        #expect(try await ports.mailboxes.removeExpired(before: Samples.muchLater, limit: 10) == 1)
        #expect(try await ports.mailboxes.entries(of: Samples.device).isEmpty)
    }

    @Sendable
    private static func expiresEarlierThanBefore(_ ports: Ports) async throws {
        _ = await ports.mailboxes.store([Samples.entry(expires: Samples.muchLater)])
        _ = await ports.mailboxes.store([Samples.entry(id: 2, expires: Samples.moment)])
        #expect(try await ports.mailboxes.removeExpired(before: Samples.later, limit: 10) == 1)
    }

    @Sendable
    private static func findsExpiredAmongOthers(_ ports: Ports) async throws {
        let apps = (1...7).map { UInt32($0) }
        let old = await ports.mailboxes.store(
            apps.map { Samples.entry(Samples.destination(app: $0), expires: Samples.moment) })
        let removed = try apps.prefix(3).enumerated().map { index, app in
            MailboxReference(destination: Samples.destination(app: app), version: try old[index].get())
        }
        _ = await ports.mailboxes.remove(removed)
        _ = await ports.mailboxes.store(
            apps[3..<6].map { Samples.entry(Samples.destination(app: $0), id: 2, expires: Samples.muchLater) })
        _ = await ports.mailboxes.store(
            (8...12).map {
                Samples.entry(Samples.destination(app: $0), expires: Samples.moment.advanced(by: .seconds(1)))
            })
        var expired: [Int] = []
        for _ in 0..<4 {
            expired.append(try await ports.mailboxes.removeExpired(before: Samples.later, limit: 2))
        }
        #expect(expired == [2, 2, 2, 0])
        let left = try await ports.mailboxes.entries(of: Samples.device).map(\.entry.destination.app.rawValue)
        #expect(left.sorted() == [4, 5, 6])
    }

    // MARK: Together

    @Sendable
    private static func concurrentCallers(_ ports: Ports) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...16 as ClosedRange<UInt64> {
                group.addTask {
                    let device = DeviceKey(environment: .production, device: DeviceID(rawValue: number))
                    let entries = (1...20).map { Samples.entry(Samples.destination(device, app: $0), id: number) }
                    let versions = try await ports.mailboxes.store(entries).map { try $0.get() }
                    let stored = try await ports.mailboxes.entries(of: device)
                    #expect(Set(stored) == Set(zip(entries, versions).map(StoredMailboxEntry.init)))
                    let references = stored.map {
                        MailboxReference(destination: $0.entry.destination, version: $0.version)
                    }
                    let removed = await ports.mailboxes.remove(references)
                    #expect(removed == Array(repeating: .success(.removed), count: entries.count))
                }
            }
            try await group.waitForAll()
        }
    }
}

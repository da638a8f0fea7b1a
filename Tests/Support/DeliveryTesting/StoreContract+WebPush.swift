import Delivery
import Notifications
import Storage
import Testing

/// The subscriptions of Web Push and their queues.
extension StoreContract {
    static let webPushPromises: [Promise] = [
        Promise("a subscription reads back as it was, and is found by its endpoint", subscribes),
        Promise("a name keeps its endpoint, and gets the new key and form", keepsEndpoint),
        Promise("a name that is made again has another endpoint, and the old one leads nowhere", renewsEndpoint),
        Promise("only an app that is on the device may subscribe", refusesUnregistered),
        Promise("an app has no more subscriptions than its limit", limitsSubscriptions),
        Promise("a queue has its messages in the order of arrival, whatever the app keeps", queuesInOrder),
        Promise("queues and the app's mailbox do not touch each other", separatesQueues),
        Promise("beyond the number the oldest message is dropped, and recorded", withLog: dropsMessages),
        Promise("the bytes of a queue are those of the bodies", withLog: countsBodies),
        Promise("a topic removes the older message, and the newer one comes last", withLog: replacesTopic),
        Promise("a message that is stored again is one entry", storesMessageOnce),
        Promise("each message expires by itself", withLog: expiresMessages),
        Promise("each message is removed by its own version", removesMessages),
        Promise("a withdrawn message is gone, and recorded once", withLog: withdraws),
        Promise("the end of a subscription empties its queue, and nothing is stored in it later", withLog: endsQueue),
        Promise("removing the app ends its subscriptions with their queues", withLog: endsWithApp),
        Promise("renewing the device's tokens ends all subscriptions", endsWithTokens),
        Promise("a deleted app's subscriptions end", endsWithDeletion),
        Promise("pages have the messages of all queues once", readsQueuesInPages),
        Promise("contents of an app have what its subscriptions keep", queueContents),
    ]

    // MARK: Samples

    private static func app(number: Int = 1, keep: Int = 1, _ ports: Ports) async throws -> Destination {
        let (team, bundleID) = (try Samples.team(), try Samples.bundleID("com.example.app\(number)"))
        if ports.accounts.current.teams.isEmpty { _ = try await ports.accounts.apply(.createTeam(team)) }
        _ = try await ports.accounts.apply(.createApp(bundleID: bundleID, team: team.id))
        if keep > 1 { _ = try await ports.accounts.apply(.setKeep(bundleID, keep)) }
        let app = try #require(ports.accounts.current.apps[bundleID]).id
        let destination = Destination(
            environment: Samples.device.environment, device: Samples.device.device, app: app)
        _ = try await ports.registrations.register(destination, tokenKeyID: 1, at: Samples.moment)
        return destination
    }

    private static func sample(
        _ name: String,
        _ number: UInt8,
        of app: Destination,
        vapid: [UInt8]? = nil,
        isPlain: Bool = false,
    ) -> WebPushSubscription {
        WebPushSubscription(
            destination: Destination(
                environment: app.environment, device: app.device, app: app.app, queue: .max - UInt32(number)),
            name: name, seed: [UInt8](repeating: number, count: 16), digest: [UInt8](repeating: number, count: 32),
            vapid: vapid, isPlain: isPlain, generation: 1)
    }

    private static func subscribe(
        _ name: String,
        _ number: UInt8,
        of app: Destination,
        _ ports: Ports,
    ) async throws -> WebPushSubscription {
        try await ports.webPush.subscribe(sample(name, number, of: app), limit: 500)
    }

    private static func message(
        _ number: UInt64,
        bytes: Int = 10,
        topic: String? = nil,
        to subscription: WebPushSubscription,
        expires: Timestamp = Samples.muchLater,
    ) throws -> MailboxEntry {
        let message = WebPushMessage(
            body: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: bytes), encoding: .aes128gcm,
            topic: topic)
        let notification = message.notification(
            NotificationID(high: number, low: ~number), for: try Samples.bundleID("com.example.app1"),
            to: subscription, expiration: .at(expires.seconds))
        return MailboxEntry(destination: subscription.destination, notification: notification, expires: expires)
    }

    /// On a slow machine another transaction may hold a mailbox for long. `Delivery` stores again then.
    @discardableResult
    private static func store(_ entry: MailboxEntry, _ ports: Ports) async throws -> MailboxVersion {
        while true {
            let result = try #require(await ports.mailboxes.store([entry]).first)
            if case .failure(let error) = result, error.code == .locked { continue }
            return try result.get()
        }
    }

    private static func kept(_ ports: Ports, by subscription: WebPushSubscription) async throws -> [UInt64] {
        try await kept(ports, at: subscription.destination)
    }

    private static func kept(_ ports: Ports, at destination: Destination) async throws -> [UInt64] {
        try await ports.mailboxes.entries(of: destination.deviceKey).filter { $0.entry.destination == destination }
            .map(\.entry.notification.id.high)
    }

    private static func find(_ number: UInt8, _ ports: Ports) async throws -> WebPushSubscription? {
        try await ports.webPush.subscriptions(with: [[UInt8](repeating: number, count: 32)]).first.flatMap(\.self)
    }

    private static func id(_ number: UInt64) -> NotificationID { NotificationID(high: number, low: ~number) }

    // MARK: Subscriptions

    @Sendable
    private static func subscribes(_ ports: Ports) async throws {
        let app = try await Self.app(ports)
        let vapid: [UInt8] = [4] + [UInt8](repeating: 7, count: 64)
        let one = sample("ü/\u{0}\"" + String(repeating: "n", count: 95), 1, of: app, vapid: vapid, isPlain: true)
        let two = sample("a", 2, of: app)
        #expect(try await ports.webPush.subscribe(one, limit: 500) == one)
        #expect(try await ports.webPush.subscribe(two, limit: 500) == two)
        let digests = [[UInt8](repeating: 2, count: 32), [UInt8](repeating: 9, count: 32), one.digest]
        #expect(try await ports.webPush.subscriptions(with: digests) == [two, nil, one])
        #expect(try await ports.webPush.subscriptions(with: []).isEmpty)
        #expect(try await ports.webPush.subscriptions(of: app) == [two, one])
        #expect(try await ports.webPush.subscriptions(of: Samples.destination(app: 99)).isEmpty)
    }

    @Sendable
    private static func keepsEndpoint(_ ports: Ports) async throws {
        let app = try await Self.app(ports)
        let first = try await subscribe("a", 1, of: app, ports)
        let vapid: [UInt8] = [4] + [UInt8](repeating: 7, count: 64)
        let again = try await ports.webPush.subscribe(
            sample("a", 2, of: app, vapid: vapid, isPlain: true), limit: 500)
        var expected = first
        (expected.vapid, expected.isPlain) = (vapid, true)
        #expect(again == expected)
        #expect(try await find(1, ports) == expected)
        #expect(try await find(2, ports) == nil)
        #expect(try await subscribe("a", 3, of: app, ports) == first)
    }

    @Sendable
    private static func renewsEndpoint(_ ports: Ports) async throws {
        let app = try await Self.app(ports)
        let first = try await subscribe("a", 1, of: app, ports)
        #expect(try await ports.webPush.endSubscription("a", of: app) == first)
        #expect(try await ports.webPush.endSubscription("a", of: app) == nil)
        let second = try await subscribe("a", 2, of: app, ports)
        #expect(second.destination != first.destination)
        #expect(try await find(1, ports) == nil)
        #expect(try await find(2, ports) == second)
    }

    @Sendable
    private static func refusesUnregistered(_ ports: Ports) async throws {
        let app = try await Self.app(ports)
        await expectEnded { _ = try await subscribe("a", 1, of: Samples.destination(app: 99), ports) }
        _ = try await ports.registrations.end(app, at: Samples.later)
        await expectEnded { _ = try await subscribe("a", 1, of: app, ports) }
        #expect(try await ports.webPush.subscriptions(of: app).isEmpty)
    }

    @Sendable
    private static func limitsSubscriptions(_ ports: Ports) async throws {
        let (app, other) = (try await Self.app(ports), try await Self.app(number: 2, ports))
        for number in 1...3 as ClosedRange<UInt8> {
            _ = try await ports.webPush.subscribe(sample("\(number)", number, of: app), limit: 3)
        }
        await expectFailure(.conflict) {
            _ = try await ports.webPush.subscribe(sample("4", 4, of: app), limit: 3)
        }
        _ = try await ports.webPush.subscribe(sample("2", 5, of: app), limit: 3)
        _ = try await ports.webPush.subscribe(sample("4", 6, of: other), limit: 3)
        #expect(try await ports.webPush.subscriptions(of: app).map(\.name) == ["1", "2", "3"])
    }

    // MARK: Queues

    @Sendable
    private static func queuesInOrder(_ ports: Ports) async throws {
        let subscription = try await subscribe("a", 1, of: try await Self.app(ports), ports)
        var expected: [StoredMailboxEntry] = []
        for number in [5, 3, 9] as [UInt64] {
            let entry = try message(number, bytes: Int(number) * 400, topic: "t\(number)", to: subscription)
            expected.append(StoredMailboxEntry(entry: entry, version: try await store(entry, ports)))
        }
        #expect(try await ports.mailboxes.entries(of: Samples.device) == expected)
        #expect(expected.map(\.version) == expected.map(\.version).sorted())
        #expect(!expected.contains { !$0.version.isKept })
    }

    @Sendable
    private static func separatesQueues(_ ports: Ports) async throws {
        let (app, keeping) = (try await Self.app(ports), try await Self.app(number: 2, keep: 3, ports))
        let (one, two) = (try await subscribe("a", 1, of: app, ports), try await subscribe("b", 2, of: app, ports))
        let other = try await subscribe("a", 3, of: keeping, ports)
        let newest = try await store(Samples.entry(app, id: 1), ports)
        let results = await ports.mailboxes.store([
            try message(10, topic: "t", to: one), Samples.entry(keeping, id: 2), try message(20, topic: "t", to: two),
            try message(30, topic: "t", to: other), try message(11, to: one), Samples.entry(keeping, id: 3),
        ])
        for result in results { _ = try result.get() }
        #expect(try await kept(ports, by: one) == [10, 11])
        #expect(try await kept(ports, by: two) == [20])
        #expect(try await kept(ports, by: other) == [30])
        #expect(try await kept(ports, at: keeping) == [2, 3])
        // A message leaves the version of the app's own notification as it is.
        let removed = await ports.mailboxes.remove([MailboxReference(destination: app, version: newest)])
        #expect(try removed.map { try $0.get() } == [.removed])
        #expect(try await kept(ports, at: app).isEmpty)
        #expect(try await kept(ports, by: one) == [10, 11])
    }

    @Sendable
    private static func dropsMessages(_ ports: Ports, _ log: RecordingLog) async throws {
        let subscription = try await subscribe("a", 1, of: try await Self.app(ports), ports)
        let count = UInt64(MailboxBound.subscription.count)
        let entries = try (1...count + 2).map { try message($0, to: subscription) }
        for entry in entries.prefix(Int(count)) { try await store(entry, ports) }
        #expect(log.events.isEmpty)
        for entry in entries.suffix(2) { try await store(entry, ports) }
        #expect(try await kept(ports, by: subscription) == Array(3...count + 2))
        #expect(log.events.map(\.step) == [.dropped, .dropped])
        #expect(log.events.map(\.subject.id) == [id(1), id(2)])
    }

    @Sendable
    private static func countsBodies(_ ports: Ports, _ log: RecordingLog) async throws {
        let subscription = try await subscribe(#"\"a"#, 1, of: try await Self.app(ports), ports)
        // Exactly as many as fit: what is written around the bodies does not count.
        let count = UInt64(MailboxBound.subscription.bytes / WebPushMessage.maximumBodyBytes)
        for number in 1...count {
            try await store(message(number, bytes: WebPushMessage.maximumBodyBytes, to: subscription), ports)
        }
        #expect(log.events.isEmpty)
        try await store(message(count + 1, bytes: 1, to: subscription), ports)
        #expect(try await kept(ports, by: subscription) == Array(2...count + 1))
        try await store(message(count + 2, bytes: 0, to: subscription), ports)
        #expect(log.events.map(\.subject.id) == [id(1)])
    }

    @Sendable
    private static func replacesTopic(_ ports: Ports, _ log: RecordingLog) async throws {
        let subscription = try await subscribe("a", 1, of: try await Self.app(ports), ports)
        try await store(message(1, topic: "t", to: subscription), ports)
        try await store(message(2, to: subscription), ports)
        try await store(message(3, topic: "t", to: subscription), ports)
        #expect(try await kept(ports, by: subscription) == [2, 3])
        #expect(log.events.map(\.step) == [.coalesced(into: id(3))])
    }

    @Sendable
    private static func storesMessageOnce(_ ports: Ports) async throws {
        let subscription = try await subscribe("a", 1, of: try await Self.app(ports), ports)
        let first = try message(1, to: subscription)
        let version = try await store(first, ports)
        try await store(message(2, to: subscription), ports)
        var again = first
        again.age = .seconds(3600)
        #expect(try await store(again, ports) == version)
        #expect(try await kept(ports, by: subscription) == [1, 2])
    }

    @Sendable
    private static func expiresMessages(_ ports: Ports, _ log: RecordingLog) async throws {
        let subscription = try await subscribe("a", 1, of: try await Self.app(ports), ports)
        try await store(message(1, to: subscription, expires: Samples.later), ports)
        try await store(message(2, to: subscription), ports)
        let moment = Samples.later.advanced(by: .milliseconds(1))
        #expect(try await ports.mailboxes.removeExpired(before: moment, limit: 10) == 1)
        #expect(try await kept(ports, by: subscription) == [2])
        #expect(log.events.map(\.step) == [.expired])
    }

    @Sendable
    private static func removesMessages(_ ports: Ports) async throws {
        let app = try await Self.app(ports)
        let (one, two) = (try await subscribe("a", 1, of: app, ports), try await subscribe("b", 2, of: app, ports))
        let first = try await store(message(1, to: one), ports)
        let second = try await store(message(2, to: one), ports)
        try await store(message(3, to: two), ports)
        let references = [
            MailboxReference(destination: two.destination, version: first),
            MailboxReference(destination: app, version: first),
            MailboxReference(destination: one.destination, version: first),
        ]
        var results: [MailboxRemoval] = []
        for reference in references {
            results.append(try #require(await ports.mailboxes.remove([reference]).first).get())
        }
        #expect(results == [.superseded, .superseded, .removed])
        #expect(try await kept(ports, by: one) == [2])
        _ = await ports.mailboxes.remove([MailboxReference(destination: one.destination, version: second)])
        // An empty queue does not begin again with versions that it has had.
        #expect(try await store(message(4, to: one), ports) > second)
    }

    @Sendable
    private static func withdraws(_ ports: Ports, _ log: RecordingLog) async throws {
        let app = try await Self.app(ports)
        let (one, two) = (try await subscribe("a", 1, of: app, ports), try await subscribe("b", 2, of: app, ports))
        let version = try await store(message(1, to: one), ports)
        try await store(message(2, to: one), ports)
        #expect(try await ports.mailboxes.withdraw(id(1), from: two.destination) == nil)
        #expect(try await ports.mailboxes.withdraw(id(1), from: one.destination) == version)
        #expect(try await ports.mailboxes.withdraw(id(1), from: one.destination) == nil)
        #expect(try await kept(ports, by: one) == [2])
        #expect(log.events.map(\.step) == [.discarded(.withdrawn)])
    }

    // MARK: The end

    @Sendable
    private static func endsQueue(_ ports: Ports, _ log: RecordingLog) async throws {
        let app = try await Self.app(ports)
        let (one, two) = (try await subscribe("a", 1, of: app, ports), try await subscribe("b", 2, of: app, ports))
        for subscription in [one, two] { try await store(message(1, to: subscription), ports) }
        _ = try await ports.webPush.endSubscription("a", of: app)
        #expect(log.events.map(\.step) == [.discarded(.unregistered)])
        await expectEnded { try await store(message(2, to: one), ports) }
        #expect(try await kept(ports, by: one).isEmpty)
        #expect(try await kept(ports, by: two) == [1])
        #expect(try await ports.mailboxes.withdraw(id(1), from: one.destination) == nil)
    }

    @Sendable
    private static func endsWithApp(_ ports: Ports, _ log: RecordingLog) async throws {
        let (app, other) = (try await Self.app(ports), try await Self.app(number: 2, ports))
        let (one, two) = (try await subscribe("a", 1, of: app, ports), try await subscribe("a", 2, of: other, ports))
        for subscription in [one, two] { try await store(message(1, to: subscription), ports) }
        _ = try await ports.registrations.end(app, at: Samples.later)
        #expect(log.events.map(\.step) == [.discarded(.unregistered)])
        #expect(try await kept(ports, by: one).isEmpty)
        #expect(try await kept(ports, by: two) == [1])
        // Whoever registers again has no subscriptions.
        _ = try await ports.registrations.register(app, tokenKeyID: 1, at: Samples.later)
        #expect(try await ports.webPush.subscriptions(of: app).isEmpty)
        #expect(try await find(1, ports) == nil)
        await expectEnded { try await store(message(2, to: one), ports) }
    }

    @Sendable
    private static func endsWithTokens(_ ports: Ports) async throws {
        let (app, other) = (try await Self.app(ports), try await Self.app(number: 2, ports))
        let (one, two) = (try await subscribe("a", 1, of: app, ports), try await subscribe("a", 2, of: other, ports))
        for subscription in [one, two] { try await store(message(1, to: subscription), ports) }
        try await ports.registrations.renewTokens(of: Samples.device, tokenKeyID: 2, at: Samples.later)
        #expect(try await ports.mailboxes.entries(of: Samples.device).isEmpty)
        #expect(try await ports.webPush.subscriptions(with: [one.digest, two.digest]) == [nil, nil])
    }

    @Sendable
    private static func endsWithDeletion(_ ports: Ports) async throws {
        let app = try await Self.app(ports)
        let one = try await subscribe("a", 1, of: app, ports)
        try await store(message(1, to: one), ports)
        let bundleID = try Samples.bundleID("com.example.app1")
        _ = try await ports.accounts.apply(.deleteApp(bundleID, at: Samples.later))
        while try await ports.registrations.removeOrphaned(limit: 10) == 10 {}
        #expect(try await ports.mailboxes.entries(of: Samples.device).isEmpty)
        #expect(try await find(1, ports) == nil)
    }

    // MARK: Reading

    @Sendable
    private static func readsQueuesInPages(_ ports: Ports) async throws {
        let app = try await Self.app(ports)
        let (one, two) = (try await subscribe("a", 1, of: app, ports), try await subscribe("b", 2, of: app, ports))
        try await store(Samples.entry(app, id: 1000), ports)
        let count = UInt64(MailboxBound.pageCount)
        for number in 1...count { try await store(message(number, to: number % 2 == 0 ? one : two), ports) }
        try await store(message(count + 1, to: two), ports)
        let page = try await ports.mailboxes.page(of: Samples.device, after: nil)
        #expect(Set(page.entries.map(\.entry.notification.id.high)) == Set(1...count).union([1000]))
        #expect(page.following == [two.destination.mailbox])
        let last = try await ports.mailboxes.page(of: Samples.device, after: page.last)
        #expect(last.entries.filter(\.version.isKept).map(\.entry.notification.id.high) == [count + 1])
        #expect(last.last == nil)
    }

    @Sendable
    private static func queueContents(_ ports: Ports) async throws {
        let app = try await Self.app(ports)
        let one = try await subscribe("a", 1, of: app, ports)
        try await store(Samples.entry(app, id: 1000), ports)
        for number in 1...3 as ClosedRange<UInt64> { try await store(message(number, to: one), ports) }
        let contents = try #require(await ports.mailboxes.contents(of: [app]).first).get()
        #expect(contents.map(\.entry.notification.id.high) == [1000, 1, 2, 3])
        #expect(contents.map(\.entry.destination.queue).filter { $0 != 0 }.count == 3)
    }
}

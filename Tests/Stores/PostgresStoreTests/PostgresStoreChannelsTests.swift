import Delivery
import Notifications
import PostgresClient
import Storage
import Testing

@testable import PostgresStore

@Suite("What nodes learn of each other's channels", .timeLimit(.minutes(2)))
struct PostgresStoreChannelsTests {
    private static let device = DeviceKey(environment: .production, device: DeviceID(rawValue: 7))
    private static let list = ChannelList(environment: .production, app: AppID(rawValue: 1))
    private static let moment = Timestamp(milliseconds: 1_700_000_000_000)

    private static func destination(_ device: UInt64 = 7) -> Destination {
        Destination(environment: .production, device: DeviceID(rawValue: device), app: AppID(rawValue: 1))
    }

    private static func channel(_ id: String) throws -> BroadcastChannel {
        BroadcastChannel(
            key: ChannelKey(list: list, id: try #require(ChannelID(rawValue: id))), policy: .newest, created: moment)
    }

    private static func subscription(_ channel: BroadcastChannel) -> Subscription {
        Subscription(device: device, app: list.app, channel: channel.key.id)
    }

    private static func entry(_ channel: BroadcastChannel, _ number: UInt64) -> BroadcastEntry {
        BroadcastEntry(
            channel: channel.key,
            notification: Notification(
                id: NotificationID(high: 1, low: number), topic: "com.example.\u{0}app", pushType: .liveActivity,
                payload: Payload(stored: Array(#"{"aps":{"event":"update"}}"#.utf8), contents: [.aps])),
            expires: Timestamp(milliseconds: .max))
    }

    private func withNodes(_ body: (PostgresStore, PostgresStore) async throws -> Void) async throws {
        var configuration = try await testConfiguration()
        configuration.pollInterval = .seconds(3600)
        var other = configuration
        other.node = PostgresNode(name: "there", identity: [2])
        let (here, there) = (try await PostgresStore.open(configuration), try await PostgresStore.open(other))
        _ = try await here.register(Self.destination(), tokenKeyID: 1, at: Self.moment)
        try await body(here, there)
        await here.close()
        await there.close()
    }

    @Test
    func `A node learns of the newest broadcast of each channel and of removals, but not of its own`() async throws {
        try await withNodes { here, there in
            #expect(here.position.rawValue == 0 && !here.maySubscribe(Self.device))
            let (first, second) = (try Self.channel("AAAA"), try Self.channel("BBBB"))
            for result in await there.create([first, second], limit: 2) { try result.get() }
            let start = try await here.changes(after: here.position, limit: 10)
            #expect(start.position.rawValue == 2 && start.changes.isEmpty && here.maySubscribe(Self.device))
            for number in 1...2 as ClosedRange<UInt64> {
                _ = try await there.store([Self.entry(first, number)])[0].get()
            }
            let version = try await there.store([Self.entry(second, 3)])[0].get()
            _ = try await here.store([Self.entry(second, 4)])[0].get()
            var news = try await here.changes(after: start.position, limit: 10)
            #expect(news.isComplete && !news.hasMore && news.position > version)
            #expect(news.changes.count == 1)
            guard case .stored(let stored)? = news.changes.first else { throw StoreError(.missing, "no broadcast") }
            #expect(stored.entry == Self.entry(first, 2))
            #expect(try await there.remove([first.key])[0].get())
            #expect(try await !there.remove([first.key])[0].get())
            news = try await here.changes(after: news.position, limit: 10)
            #expect(news.changes == [.removed(first.key)])
            #expect(try await here.stored([first.key, second.key]).map { $0 == nil } == [true, false])
        }
    }

    @Test
    func `Changes are read page by page, and what the database has lost is noticed`() async throws {
        try await withNodes { here, there in
            let channels = try ["AAAA", "BBBB", "CCCC"].map { try Self.channel($0) }
            for result in await there.create(channels, limit: 3) { try result.get() }
            for (number, channel) in channels.enumerated() {
                _ = try await there.store([Self.entry(channel, UInt64(number))])[0].get()
            }
            let page = try await here.changes(after: here.position, limit: 2)
            let rest = try await here.changes(after: page.position, limit: 2)
            #expect(page.changes.count == 2 && page.hasMore && rest.changes.count == 1 && !rest.hasMore)
            #expect(try await here.changes(after: rest.position, limit: 2).isComplete)
            let connection = PostgresConnection(here.configuration.location, name: "test")
            _ = try await connection.execute("UPDATE carillon.channel_change SET last = 1")
            await connection.close()
            let lost = try await here.changes(after: rest.position, limit: 2)
            #expect(!lost.isComplete && lost.position.rawValue == 1 && lost.changes.isEmpty)
        }
    }

    @Test
    func `A subscription is announced to the node that holds the device, and is found by one that takes it`()
        async throws
    {
        try await withNodes { here, there in
            let channel = try Self.channel("AAAA")
            try await here.create([channel], limit: 1)[0].get()
            let subscription = Self.subscription(channel)
            for round in 0..<30 {
                async let subscribed = there.subscribe([subscription], limit: 10, at: Self.moment)
                let hold = try #require(try await here.claim([Self.device]).first)
                let found = try await here.subscriptions(of: Self.device).map(\.channel)
                try await subscribed[0].get()
                let announced = try await here.drainAnnouncements(limit: 10)
                #expect(found == [channel] || announced == [.changed(Self.destination())], "round \(round)")
                try await there.unsubscribe([subscription])[0].get()
                #expect(try await here.drainAnnouncements(limit: 10) == [.changed(Self.destination())])
                try await here.release([hold])
            }
        }
    }

    @Test
    func `Subscriptions also end if a node of the release before ends the registration`() async throws {
        try await withNodes { here, there in
            let channel = try Self.channel("AAAA")
            try await here.create([channel], limit: 1)[0].get()
            let connection = PostgresConnection(here.configuration.location, name: "test")
            for statement in [
                "UPDATE carillon.destination SET active = false", "DELETE FROM carillon.destination",
            ] as [StaticString] {
                _ = try await here.register(Self.destination(), tokenKeyID: 1, at: Self.moment)
                try await here.subscribe([Self.subscription(channel)], limit: 1, at: Self.moment)[0].get()
                #expect(try await there.subscriptions(of: Self.device).count == 1)
                _ = try await connection.execute(statement)
                #expect(try await connection.execute("SELECT 1 FROM carillon.subscription").count == 0)
            }
            await connection.close()
        }
    }

    @Test
    func `Storing, removing and subscribing at the same time on both nodes leaves nothing behind`() async throws {
        try await withNodes { here, there in
            for round in 0..<20 {
                let channel = try Self.channel("AAA\(Character(UnicodeScalar(UInt8(65 + round))))")
                try await here.create([channel], limit: 100)[0].get()
                async let stored = here.store([Self.entry(channel, 1)])
                async let subscribed = here.subscribe([Self.subscription(channel)], limit: 100, at: Self.moment)
                async let removed = there.remove([channel.key])
                #expect(try await removed[0].get())
                for result in [await stored[0].map { _ in }, await subscribed[0]] {
                    if case .failure(let error) = result { #expect(error.code == .missing) }
                }
                #expect(try await there.stored([channel.key]) == [nil])
                #expect(try await there.subscriptions(of: Self.device).isEmpty)
            }
            while try await here.removeLeftovers(before: Timestamp(milliseconds: .max), limit: 3) == 3 {}
            let left = try await here.writers[0].execute(
                "SELECT (SELECT count(*) FROM carillon.broadcast) + (SELECT count(*) FROM carillon.subscription)")
            #expect(left.first?.integer(0) == 0)
        }
    }

    @Test
    func `Two nodes that create channels together keep the limit`() async throws {
        try await withNodes { here, there in
            let channels = try (0..<12).map { try Self.channel("AAA\(Character(UnicodeScalar(UInt8(65 + $0))))") }
            async let first = here.create(Array(channels[..<6]), limit: 5)
            async let second = there.create(Array(channels[6...]), limit: 5)
            let results = await first + second
            #expect(results.count { if case .success = $0 { true } else { false } } == 5)
            #expect(try await here.channels(of: Self.list, after: nil, limit: 100).count == 5)
        }
    }
}

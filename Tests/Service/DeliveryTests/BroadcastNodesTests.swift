import CommonTesting
import DeliveryTesting
import Notifications
import Rates
import SQLiteStore
import Storage
import Synchronization
import Testing

@testable import Delivery

@Suite("Broadcasts of other nodes", .timeLimit(.minutes(1)))
struct BroadcastNodesTests {
    private static let device = DeviceKey(environment: .development, device: DeviceID(rawValue: 1))

    /// A device's stream that counts what it gets.
    private final class Stream: BroadcastStream {
        let scores = Mutex<[UInt64]>([])
        let numbers = Mutex<[UInt64]>([])
        func send(_ broadcast: BroadcastMessage) {
            numbers.withLock { $0.append(broadcast.number) }
            scores.withLock { $0.append(broadcast.notification.id.low) }
        }
        func end(_ reason: StreamEnd) {}

        func received(_ count: Int) async throws -> [UInt64] {
            try await wait(while: scores.withLock(\.count) < count)
            return scores.withLock { $0 }
        }
    }

    /// What other nodes have changed. A test adds to it.
    private final class News: ChannelNews {
        let list = Mutex<[ChannelChange]>([])
        let failures = Mutex(0)
        /// Whether the store has lost its changes.
        let isLost = Mutex(false)
        let position = BroadcastVersion(rawValue: 0)

        func changes(after position: BroadcastVersion, limit: Int) async throws(StoreError) -> ChannelChanges {
            let fails = failures.withLock { failures in
                failures -= failures > 0 ? 1 : 0
                return failures > 0
            }
            if fails { throw StoreError(.unavailable, "The test wants this call to fail.") }
            let list = list.withLock { $0 }
            if isLost.withLock({ $0 }) {
                return ChannelChanges(
                    position: BroadcastVersion(rawValue: 0), isComplete: false, changes: [], hasMore: false)
            }
            let changes = Array(list.dropFirst(Int(position.rawValue)).prefix(limit))
            let next = position.rawValue + UInt64(changes.count)
            return ChannelChanges(
                position: BroadcastVersion(rawValue: next), isComplete: true, changes: changes,
                hasMore: next < list.count)
        }
    }

    private final class Exceeded: Sendable {
        let limits = Mutex<[Limit]>([])
    }

    /// A node with one connected device, which is subscribed to one channel.
    private struct Rig: Sendable {
        let store: SQLiteStore
        let news = News()
        let stream = Stream()
        let exceeded = Exceeded()
        let holds = TestHolds()
        let broadcasts: Broadcasts
        let channel: BroadcastChannel

        init(_ limits: ChannelLimits) async throws {
            store = try .inMemory()
            let team = Team(id: try #require(TeamID(rawValue: "ABCDE12345")), name: "Team")
            _ = try await store.apply(.createTeam(team), to: nil)
            let bundleID = try #require(BundleID(rawValue: "com.example.app"))
            let accounts = try await store.apply(.createApp(bundleID: bundleID, team: team.id), to: nil)
            let app = try #require(accounts.apps[bundleID]).id
            let id = try #require(ChannelID(rawValue: "AAAA"))
            channel = BroadcastChannel(
                key: ChannelKey(list: ChannelList(environment: .development, app: app), id: id), policy: .newest,
                created: Timestamp(milliseconds: 0))
            let exceeded = exceeded
            broadcasts = Broadcasts(
                channels: store, news: news, accounts: store, limits: limits,
                limitExceeded: { limit in exceeded.limits.withLock { $0.append(limit) } },
                fence: HoldFence(holds),
                clock: ServiceClock {
                    Moment(time: Timestamp(milliseconds: 1_700_000_000_000), uptime: Uptime(nanoseconds: 0))
                })
            let destination = Destination(environment: .development, device: device.device, app: app)
            _ = try await store.register(destination, tokenKeyID: 1, at: Timestamp(milliseconds: 0))
            try await store.create([channel], limit: 1)[0].get()
            broadcasts.attach(stream, of: device)
            try await broadcasts.subscribe(Subscription(device: device, app: app, channel: id))
        }

        func notification(_ number: UInt64, _ priority: Priority = .immediate) -> Notification {
            Notification(
                id: NotificationID(high: 0, low: number), topic: "com.example.app.push-type.liveactivity",
                pushType: .liveActivity, priority: priority,
                payload: Payload(stored: Array("{}".utf8), contents: []))
        }

        /// Stores a broadcast that is not urgent, without sending it.
        func store(_ number: UInt64) async throws -> StoredBroadcast {
            let entry = BroadcastEntry(
                channel: channel.key, notification: notification(number, .low), expires: Timestamp(milliseconds: .max))
            return StoredBroadcast(entry: entry, version: try await store.store([entry])[0].get())
        }

        /// Lets the device have low power, which its broadcasts respect.
        func lowPower() -> LocalSwitchboard {
            let now = Moment(time: Timestamp(milliseconds: 1_700_000_000_000), uptime: Uptime(nanoseconds: 0))
            let local = LocalSwitchboard(mailboxes: store, clock: { now })
            local.attachNew(RecordingStream(), of: device, power: .low)
            broadcasts.respectPower(of: local)
            return local
        }

        /// A broadcast on its direct way.
        func direct(_ number: UInt64, version: UInt64?) -> PeerBroadcast {
            PeerBroadcast(
                channel: channel.key, notification: notification(number),
                version: version.map { BroadcastVersion(rawValue: $0) })
        }

        /// The same broadcast as the store has it.
        func stored(_ number: UInt64, version: UInt64) -> ChannelChange {
            .stored(
                StoredBroadcast(
                    entry: BroadcastEntry(
                        channel: channel.key, notification: notification(number), expires: Timestamp(milliseconds: .max)
                    ),
                    version: BroadcastVersion(rawValue: version)))
        }
    }

    private func withRig(
        _ change: (inout ChannelLimits) -> Void = { _ in },
        _ body: (Rig) async throws -> Void,
    ) async throws {
        var limits = ChannelLimits()
        limits.newsInterval = .milliseconds(1)
        limits.newsBatch = 2
        change(&limits)
        let rig = try await Rig(limits)
        let running = Task { await rig.broadcasts.run() }
        try await body(rig)
        running.cancel()
        await running.value
    }

    @Test
    func `A node whose lease has run out sends and acknowledges no broadcasts`() async throws {
        try await withRig { rig in
            rig.broadcasts.deliver(rig.direct(1, version: 1))
            #expect(try await rig.stream.received(1) == [1])
            rig.holds.state.withLock { $0.term += 1 }
            rig.broadcasts.deliver(rig.direct(2, version: 2))
            rig.broadcasts.acknowledge(rig.stream.numbers.withLock { $0 }, by: Self.device)
            await rig.broadcasts.flushMarks()
            let before = try await rig.store.subscriptions(of: Self.device).map(\.seen)
            rig.holds.state.withLock { $0.term -= 1 }
            rig.broadcasts.acknowledge(rig.stream.numbers.withLock { $0 }, by: Self.device)
            await rig.broadcasts.flushMarks()
            let after = try await rig.store.subscriptions(of: Self.device).map(\.seen)
            #expect(before == [nil] && after == [BroadcastVersion(rawValue: 1)])
            #expect(try await rig.stream.received(1) == [1])
        }
    }

    /// The node's provider may have given up and broadcast something newer through another node.
    @Test(arguments: [true, false])
    func `A node that was stopped, or is late, stores no broadcast`(wasStopped: Bool) async throws {
        try await withRig { rig async throws in
            let start = Moment(time: Timestamp(milliseconds: 1_700_000_000_000), uptime: Uptime(nanoseconds: 0))
            let read = Mutex(0)
            func broadcasts(stepping seconds: Int, isShared: Bool, wasStopped: Bool) -> Broadcasts {
                Broadcasts(
                    channels: rig.store, news: isShared ? rig.news : nil, accounts: rig.store,
                    wasStopped: { wasStopped },
                    clock: ServiceClock {
                        let step = read.withLock { read in
                            defer { read += 1 }
                            return read
                        }
                        return Moment(time: start.time, uptime: start.uptime.advanced(by: .seconds(seconds * step)))
                    })
            }
            let late = broadcasts(stepping: wasStopped ? 0 : 3, isShared: true, wasStopped: wasStopped)
            let error = await #expect(throws: Rejection.self) {
                try await late.send(rig.notification(1), to: rig.channel.key)
            }
            #expect(error?.reason == .serviceUnavailable)
            let stored = try await rig.store.stored([rig.channel.key])
            #expect(stored == [nil])
            // A service that has its store for itself has nobody to give way to.
            let alone = broadcasts(stepping: 3, isShared: false, wasStopped: false)
            let result = try await alone.send(rig.notification(2), to: rig.channel.key)
            #expect(result.isStored)
        }
    }

    @Test
    func `The store gets to know how long ago a broadcast was accepted`() async throws {
        try await withRig { rig async throws in
            let channels = TimingChannels(rig.store)
            let read = Mutex(0)
            let broadcasts = Broadcasts(
                channels: channels, news: rig.news, accounts: rig.store,
                clock: ServiceClock {
                    let count = read.withLock { read in
                        defer { read += 1 }
                        return read
                    }
                    return Moment(
                        time: Timestamp(milliseconds: 1_700_000_000_000),
                        uptime: Uptime(nanoseconds: UInt64(count) * 100_000_000))
                })
            _ = try await broadcasts.send(rig.notification(1), to: rig.channel.key)
            let waits = channels.waits.withLock { $0 }
            #expect(waits.count == 1 && waits.allSatisfy { ($0 ?? .zero) > .zero })
        }
    }

    @Test
    func `A stored broadcast that is not urgent waits for the power, also if the subscriptions are read again`()
        async throws
    {
        let rig = try await Rig(ChannelLimits())
        let local = rig.lowPower()
        _ = try await rig.store(1)
        await rig.broadcasts.applySubscriptions(of: Self.device)
        #expect(rig.stream.scores.withLock { $0 } == [])
        local.changePower(of: Self.device, to: .awake)
        #expect(rig.stream.scores.withLock { $0 } == [1])
    }

    @Test
    func `A device that subscribes for the first time on an open stream counts as one with its power`() async throws {
        let rig = try await Rig(ChannelLimits())
        let now = Moment(time: Timestamp(milliseconds: 1_700_000_000_000), uptime: Uptime(nanoseconds: 0))
        let broadcasts = Broadcasts(channels: rig.store, accounts: rig.store, clock: ServiceClock { now })
        let local = LocalSwitchboard(mailboxes: rig.store, clock: { now })
        broadcasts.respectPower(of: local)
        let subscription = Subscription(device: Self.device, app: rig.channel.key.list.app, channel: rig.channel.key.id)
        try await broadcasts.unsubscribe(subscription)
        let stream = Stream()
        broadcasts.attach(stream, of: Self.device)
        local.attachNew(RecordingStream(), of: Self.device, power: .low)
        _ = try await rig.store(1)
        try await broadcasts.subscribe(subscription)
        #expect(stream.scores.withLock { $0 } == [])
        local.changePower(of: Self.device, to: .awake)
        #expect(stream.scores.withLock { $0 } == [1])
    }

    @Test
    func `A stored broadcast that found no room among those that wait is read when the device is awake`() async throws {
        var limits = ChannelLimits()
        limits.unacknowledgedPerDevice = 2
        let rig = try await Rig(limits)
        let local = rig.lowPower()
        // Nothing of it is stored, so the channel is not read because of it.
        for number in 1...2 as ClosedRange<UInt64> {
            _ = rig.broadcasts.fanOut(
                try #require(
                    rig.broadcasts.message(rig.notification(number, .low), to: rig.channel.key, version: nil)))
        }
        let stored = try await rig.store(3)
        _ = rig.broadcasts.fanOut(try #require(rig.broadcasts.message(stored)), isStored: true)
        local.changePower(of: Self.device, to: .awake)
        #expect(try await rig.stream.received(2) == [2, 3])
    }

    @Test
    func `What was not sent directly is found in the store, page by page and once`() async throws {
        try await withRig { rig in
            rig.news.failures.withLock { $0 = 3 }
            let changes = (1...5).map { rig.stored($0, version: $0) }
            rig.news.list.withLock { $0 = changes }
            let scores = try await rig.stream.received(5)
            #expect(scores == [1, 2, 3, 4, 5])
            // The direct way was slower.
            rig.broadcasts.received(rig.direct(5, version: 5))
            rig.broadcasts.received(rig.direct(6, version: 6))
            #expect(try await rig.stream.received(6) == [1, 2, 3, 4, 5, 6])
            // And now the store has what was sent directly, and more.
            rig.news.list.withLock { $0 += [rig.stored(6, version: 6), rig.stored(7, version: 7)] }
            #expect(try await rig.stream.received(7) == [1, 2, 3, 4, 5, 6, 7])
        }
    }

    @Test
    func `A broadcast that is not stored comes directly only`() async throws {
        try await withRig { rig in
            for number in 1...20 as ClosedRange<UInt64> { rig.broadcasts.received(rig.direct(number, version: nil)) }
            let scores = try await rig.stream.received(20)
            #expect(scores == Array(1...20))
        }
    }

    @Test
    func `A channel that another node removed has no subscribers, and an unknown one harms nothing`() async throws {
        try await withRig { rig in
            #expect(rig.broadcasts.connectedSubscribers(of: rig.channel.key) == 1)
            // As in a shared store, the channel is gone there too.
            _ = await rig.store.remove([rig.channel.key])
            rig.news.list.withLock { $0 = [.removed(rig.channel.key), .removed(rig.channel.key)] }
            try await wait(while: rig.broadcasts.connectedSubscribers(of: rig.channel.key) > 0)
            rig.broadcasts.received(rig.direct(1, version: nil))
            #expect(rig.stream.scores.withLock { $0 } == [])
        }
    }

    @Test
    func `If the store has lost changes, the subscriptions of all devices are read again`() async throws {
        try await withRig { rig in
            _ = await rig.store.remove([rig.channel.key])
            rig.news.isLost.withLock { $0 = true }
            try await wait(while: rig.broadcasts.connectedSubscribers(of: rig.channel.key) > 0)
        }
    }

    @Test
    func `Broadcasts that wait beyond the limit are left out, and a stored one then comes from the store`() async throws
    {
        let rig = try await Rig(
            {
                var limits = ChannelLimits()
                limits.waitingFromNodes = 2
                limits.newsInterval = .milliseconds(1)
                return limits
            }())
        for number in 1...4 as ClosedRange<UInt64> {
            rig.broadcasts.received(rig.direct(number, version: number == 4 ? 9 : nil))
        }
        #expect(rig.exceeded.limits.withLock { $0 } == [.nodeBroadcasts, .nodeBroadcasts])
        rig.news.list.withLock { $0 = [rig.stored(4, version: 9)] }
        let running = Task { await rig.broadcasts.run() }
        #expect(Set(try await rig.stream.received(3)) == [1, 2, 4])
        running.cancel()
        await running.value
    }
}

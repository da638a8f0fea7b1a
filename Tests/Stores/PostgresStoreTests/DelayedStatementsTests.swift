import AccountTables
import CommonTesting
import Delivery
import Notifications
import PostgresClient
import PostgresSupport
import PostgresTesting
import Storage
import Synchronization
import Testing

@testable import PostgresStore

/// Statements that were late on their way to PostgreSQL, while another node has answered something newer.
@Suite("Statements that were delayed", .timeLimit(.minutes(2)))
struct DelayedStatementsTests {
    private let moment = Timestamp(milliseconds: 1_700_000_000_000)
    private let destination = Destination(
        environment: .production, device: DeviceID(rawValue: 1), app: AppID(rawValue: 1))

    private func notification(_ id: UInt64) -> Notification {
        Notification(
            id: NotificationID(high: 1, low: id), topic: "com.example.app", pushType: .alert,
            payload: Payload(stored: Array(#"{"aps":{"badge":1}}"#.utf8), contents: [.aps, .badge]))
    }

    private func entry(_ id: UInt64, waited: Duration? = .zero) -> MailboxEntry {
        MailboxEntry(
            destination: destination, notification: notification(id), expires: Timestamp(milliseconds: .max),
            waited: waited)
    }

    private func channel() throws -> BroadcastChannel {
        BroadcastChannel(
            key: ChannelKey(
                list: ChannelList(environment: .production, app: destination.app),
                id: try #require(ChannelID(rawValue: "AAAA"))),
            policy: .newest, created: moment)
    }

    private func broadcast(_ id: UInt64, waited: Duration? = .zero) throws -> BroadcastEntry {
        BroadcastEntry(
            channel: try channel().key, notification: notification(id), expires: Timestamp(milliseconds: .max),
            waited: waited)
    }

    private func subscription() throws -> Subscription {
        Subscription(device: destination.deviceKey, app: destination.app, channel: try channel().key.id)
    }

    /// Two nodes on one database, with the app registered on a device and a channel. The first node reaches the database
    /// through a proxy.
    private func withNodes(
        _ body: (_ here: PostgresStore, _ there: PostgresStore, StallingProxy) async throws -> Void
    ) async throws {
        let url = try await TestServer.makeURL()
        let proxy = try StallingProxy(to: url)
        // The tests renew the lease themselves.
        var configuration = try await testConfiguration(try PostgresLocation(proxy.url))
        configuration.pollInterval = .seconds(3600)
        var other = configuration
        other.location = try PostgresLocation(url)
        other.node = PostgresNode(name: "there", identity: [2])
        let there = try await PostgresStore.open(other)
        let here = try await PostgresStore.open(configuration)
        try await withCleanUp {
            _ = try await here.register(destination, tokenKeyID: 1, at: moment)
            try await here.create([try channel()], limit: 1)[0].get()
            try await body(here, there, proxy)
        } cleanUp: {
            proxy.goOn()
            await here.close()
            await there.close()
            proxy.close()
        }
    }

    private func stored(_ store: PostgresStore) async throws -> [UInt64] {
        try await store.entries(of: destination.deviceKey).map(\.entry.notification.id.low)
    }

    private func kept(_ store: PostgresStore) async throws -> UInt64? {
        try await store.stored([try channel().key]).first??.entry.notification.id.low
    }

    /// Waits until statements of the node hang in the proxy, and until it is later by the server's clock than the node's
    /// measurement can have said.
    private func waitUntilLate(_ here: PostgresStore, _ there: PostgresStore, _ proxy: StallingProxy) async throws {
        try await wait(while: proxy.held(.toServer) == 0)
        let latest = try #require(here.clock.withLock { $0.latest(at: .now) })
        try await wait(while: try await serverTime(there).time <= latest.time)
    }

    private func serverTime(_ store: PostgresStore) async throws -> (time: Int64, server: Int64) {
        let row = try await store.writers[0].execute([PostgresStore.clockReading]).first?.first
        return (try #require(row?.integer(0)), try #require(row?.integer(1)))
    }

    /// Makes a node believe that the server's clock is so much behind.
    private func putBack(_ node: PostgresStore, by microseconds: Int64, server: Int64? = nil) async throws {
        let (time, own) = try await serverTime(node)
        let now = ContinuousClock.now
        node.clock.withLock { clock in
            clock = DatabaseClock()
            clock.record(
                DatabaseClock.Reading(server: server ?? own, time: time - microseconds, sent: now, received: now))
        }
    }

    // MARK: Notifications

    @Test(arguments: [[.toServer], [.toServer, .fromServer]] as [[StallingProxy.Way]])
    func `A notification that was delayed does not replace one that was answered meanwhile`(
        ways: [StallingProxy.Way]
    ) async throws {
        try await withNodes { here, there, proxy in
            for way in ways { proxy.stop(way) }
            async let late = here.store([entry(1)])
            try await waitUntilLate(here, there, proxy)
            _ = try await there.store([entry(2)])[0].get()
            proxy.goOn()
            #expect(await late == [.failure(.overtaken)])
            #expect(try await stored(there) == [2])
            // What comes afterwards is newer.
            _ = try await here.store([entry(3)])[0].get()
            #expect(try await stored(there) == [3])
        }
    }

    @Test
    func `A notification that was delayed is stored if the mailbox is empty, or has what was stored before`()
        async throws
    {
        try await withNodes { here, there, proxy in
            _ = try await there.store([entry(1)])[0].get()
            proxy.stop(.toServer)
            async let late = here.store([entry(2)])
            try await waitUntilLate(here, there, proxy)
            proxy.goOn()
            _ = try await late[0].get()
            #expect(try await stored(there) == [2])
        }
    }

    @Test
    func `A batch that was delayed stores what nothing has overtaken, and reports each by itself`() async throws {
        try await withNodes { here, there, proxy in
            let other = Destination(
                environment: .production, device: destination.device, app: AppID(rawValue: 2))
            _ = try await there.register(other, tokenKeyID: 1, at: moment)
            var elsewhere = entry(4)
            elsewhere.destination = other
            let batch = [entry(1), elsewhere, entry(3)]
            proxy.stop(.toServer)
            async let late = here.store(batch)
            try await waitUntilLate(here, there, proxy)
            _ = try await there.store([entry(2)])[0].get()
            proxy.goOn()
            let results = await late
            #expect([results[0], results[2]] == [.failure(.overtaken), .failure(.overtaken)])
            _ = try results[1].get()
            #expect(try await stored(there) == [2, 4])
        }
    }

    @Test
    func `Nodes that take turns, each at the other's answer, are never refused`() async throws {
        try await withNodes { here, there, _ in
            for number in 1...1000 as ClosedRange<UInt64> {
                let node = number.isMultiple(of: 2) ? here : there
                _ = try await node.store([entry(number)])[0].get()
            }
            #expect(try await stored(here) == [1000])
        }
    }

    @Test
    func `A late notification goes by the time of its acceptance, and not by its age with a margin`() async throws {
        try await withNodes { here, there, _ in
            _ = try await there.store([entry(1)])[0].get()
            var late = entry(2)
            late.age = .zero
            _ = try await here.store([late])[0].get()
            #expect(try await stored(here) == [2])
            // One that may have been stored before has a margin.
            (late, late.waited) = (entry(3, waited: nil), nil)
            late.age = .zero
            #expect(await here.store([late]) == [.failure(.overtaken)])
        }
    }

    // MARK: Other clocks

    @Test
    func `What was measured at another primary refuses nothing`() async throws {
        try await withNodes { here, there, _ in
            _ = try await there.store([entry(1)])[0].get()
            try await putBack(here, by: 3_600_000_000, server: 1)
            _ = try await here.store([entry(2)])[0].get()
            #expect(try await stored(here) == [2])
            try await putBack(here, by: 3_600_000_000, server: 1)
            _ = try await there.store([try broadcast(1)])[0].get()
            _ = try await here.store([try broadcast(2)])[0].get()
            #expect(try await kept(here) == 2)
        }
    }

    @Test
    func `If the server's clock was set forward, what it seemed to refuse is stored`() async throws {
        try await withNodes { here, there, _ in
            _ = try await there.store([entry(1)])[0].get()
            try await putBack(here, by: 3_600_000_000)
            _ = try await here.store([entry(2)])[0].get()
            #expect(try await stored(here) == [2])
            _ = try await there.store([try broadcast(1)])[0].get()
            try await putBack(here, by: 3_600_000_000)
            _ = try await here.store([try broadcast(2)])[0].get()
            #expect(try await kept(here) == 2)
        }
    }

    @Test
    func `A mailbox whose version is still to come was given it by another clock`() async throws {
        try await withNodes { here, there, _ in
            for number in 1...3 as ClosedRange<UInt64> {
                _ = try await here.store([entry(number)])[0].get()
                _ = try await there.writers[0].execute(
                    "UPDATE carillon.destination SET version = version + 600 * 1000000::bigint")
                _ = try await there.writers[0].execute(
                    "UPDATE carillon.broadcast SET stored = stored + 600 * 1000000::bigint")
                _ = try await here.store([try broadcast(number)])[0].get()
            }
            #expect(try await stored(here) == [3])
        }
    }

    @Test
    func `The lease brings the clock`() async throws {
        try await withNodes { here, _, _ in
            here.clock.withLock { $0 = DatabaseClock() }
            here.lease.withLock { $0.renewed -= here.configuration.leaseRenewal }
            try await here.renewLease()
            #expect(here.clock.withLock { $0.latest(at: .now) } != nil)
        }
    }

    // MARK: Broadcasts

    @Test
    func `A broadcast that was delayed does not replace one that was answered meanwhile`() async throws {
        try await withNodes { here, there, proxy in
            _ = try await there.store([try broadcast(1)])[0].get()
            proxy.stop(.toServer)
            let old = try broadcast(2)
            async let late = here.store([old])
            try await waitUntilLate(here, there, proxy)
            _ = try await there.store([try broadcast(3)])[0].get()
            proxy.goOn()
            #expect(await late == [.failure(.overtaken)])
            #expect(try await kept(there) == 3)
            // The next one has a greater version, and other nodes hear of it.
            let position = try await there.changes(after: BroadcastVersion(rawValue: 0), limit: 10).position
            let version = try await here.store([try broadcast(4)])[0].get()
            #expect(version > position)
            #expect(try await there.changes(after: position, limit: 10).changes.count == 1)
        }
    }

    /// It does not know the column with the time.
    @Test
    func `A broadcast that a node of the release before has stored is not replaced by one that was delayed`()
        async throws
    {
        try await withNodes { here, there, proxy in
            _ = try await there.store([try broadcast(1)])[0].get()
            proxy.stop(.toServer)
            let old = try broadcast(2)
            async let late = here.store([old])
            try await waitUntilLate(here, there, proxy)
            _ = try await there.writers[0].execute(
                """
                UPDATE carillon.broadcast SET version = version + 1, id = decode('00000000000000010000000000000009', 'hex')
                """)
            proxy.goOn()
            #expect(await late == [.failure(.overtaken)])
            #expect(try await kept(there) == 9)
        }
    }

    @Test
    func `Nodes that take turns with a channel are never refused`() async throws {
        try await withNodes { here, there, _ in
            for number in 1...200 as ClosedRange<UInt64> {
                _ = try await (number.isMultiple(of: 2) ? here : there).store([try broadcast(number)])[0].get()
            }
        }
    }

    // MARK: Registrations and subscriptions

    /// A change that a device has asked a node for.
    enum Change: CaseIterable {
        case register, end, renewTokens, subscribe, unsubscribe, hold
    }

    /// The device asks another node when its connection has ended, and may ask for the opposite.
    @Test(arguments: Change.allCases)
    func `A change that comes too late changes nothing`(_ change: Change) async throws {
        try await withNodes { here, there, _ in
            switch change {
            case .register: _ = try await there.end(destination, at: moment)
            case .unsubscribe: try await there.subscribe([try subscription()], limit: 1, at: moment)[0].get()
            case .end, .renewTokens, .subscribe, .hold: break
            }
            let before = try await state(there)
            try await putBack(here, by: 3_600_000_000)
            let error = await #expect(throws: StoreError.self) { try await make(change, at: here) }
            #expect(error?.code == .unavailable && error?.cause.contains("so late") == true)
            #expect(try await state(there) == before)
            // It is made if it is in time.
            here.clock.withLock { $0 = DatabaseClock() }
            try await make(change, at: here)
            #expect(try await state(there) != before)
        }
    }

    private func make(_ change: Change, at node: PostgresStore) async throws {
        switch change {
        case .register: _ = try await node.register(destination, tokenKeyID: 1, at: moment)
        case .end: _ = try await node.end(destination, at: moment)
        case .renewTokens: try await node.renewTokens(of: destination.deviceKey, tokenKeyID: 2, at: moment)
        case .subscribe: try await node.subscribe([try subscription()], limit: 1, at: moment)[0].get()
        case .unsubscribe: try await node.unsubscribe([try subscription()])[0].get()
        case .hold:
            let place = UpstreamPlace(
                bundleID: try #require(BundleID(rawValue: "com.example.app")), environment: .production)
            let push = ForwardedPush(
                deviceToken: [1], topic: "com.example.app", id: "8b1e5b4a-9c0c-4d5e-8f00-000000000001", payload: [],
                share: ForwardingShare(rawValue: "team"), via: "2 gateway")
            try await node.hold(HeldPush(push, of: place, expires: Timestamp(milliseconds: .max)))
        }
    }

    private func state(_ node: PostgresStore) async throws -> String {
        let registration = try await node.registrations(of: destination.deviceKey)[destination.app]
        let subscriptions = try await node.subscriptions(of: destination.deviceKey)
        let held = try await node.heldPlaces(at: Timestamp(milliseconds: 1_800_000_000_000))
        return "\(registration?.generation ?? 0) \(registration?.isActive == true) \(subscriptions.count) \(held.count)"
    }

    @Test
    func `A node that ends late leaves the lease to the process that has started since`() async throws {
        try await withNodes { here, there, proxy in
            _ = try await there.claim([destination.deviceKey])
            var configuration = there.configuration
            configuration.location = here.configuration.location
            let again = try await PostgresStore.open(configuration)
            _ = try await again.claim([destination.deviceKey])
            try await putBack(there, by: 3_600_000_000)
            await there.endLease()
            await #expect(throws: PostgresError.self) {
                try await PostgresStore.giveUp(
                    there.configuration.node.identity, isOwn: true, clock: there.clock.withLock(\.self),
                    on: there.control)
            }
            try await there.announce(peer: "192.0.2.1:4000")
            try await there.drained()
            let node = try await again.nodes().first { $0.name == "there" }
            #expect(node?.state == .active && node?.peer == nil)
            let held = try await again.control.execute("SELECT count(*) FROM carillon.device WHERE node IS NOT NULL")
            #expect(held.first?.integer(0) == 1)
            await again.close()
        }
    }
}

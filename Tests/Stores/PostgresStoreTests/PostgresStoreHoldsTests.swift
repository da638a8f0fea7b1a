import Delivery
import Notifications
import PostgresClient
import PostgresSupport
import PostgresTesting
import Storage
import Synchronization
import Testing

@testable import PostgresStore

@Suite("Which node holds a device", .timeLimit(.minutes(2)))
struct PostgresStoreHoldsTests {
    private let device = DeviceKey(environment: .production, device: DeviceID(rawValue: 7))
    private let moment = Timestamp(milliseconds: 1_700_000_000_000)

    private var destination: Destination {
        Destination(environment: .production, device: DeviceID(rawValue: 7), app: AppID(rawValue: 1))
    }

    /// Two nodes on one database, with the app registered on the device.
    private func withNodes(
        pollInterval: Duration = .milliseconds(500),
        _ body: (PostgresStore, PostgresStore) async throws -> Void,
    ) async throws {
        var configuration = try await testConfiguration()
        configuration.pollInterval = pollInterval
        var other = configuration
        other.node = PostgresNode(name: "there", identity: [2])
        let (here, there) = (try await PostgresStore.open(configuration), try await PostgresStore.open(other))
        _ = try await here.register(destination, tokenKeyID: 1, at: moment)
        try await body(here, there)
        await here.close()
        await there.close()
    }

    private func entry() -> MailboxEntry {
        MailboxEntry(
            destination: destination,
            notification: Notification(
                id: NotificationID(high: 1, low: 2), topic: "com.example.app",
                payload: Payload(stored: Array(#"{"aps":{"badge":1}}"#.utf8), contents: [.aps, .badge])),
            expires: Timestamp(milliseconds: .max))
    }

    @Test
    func `A notification that another node stores is announced once; one of the node itself is not`() async throws {
        try await withNodes { here, there in
            _ = try await there.store([entry()])[0].get()
            #expect(try await here.drainAnnouncements(limit: 10) == [])
            let hold = try #require(try await here.claim([device]).first)
            #expect(hold.device == device && hold.epoch == 1)
            _ = try await here.store([entry()])[0].get()
            #expect(try await here.drainAnnouncements(limit: 10) == [])
            for _ in 0..<2 { _ = try await there.store([entry()])[0].get() }
            #expect(try await there.drainAnnouncements(limit: 10) == [])
            #expect(try await here.drainAnnouncements(limit: 10) == [.changed(destination)])
            #expect(try await here.drainAnnouncements(limit: 10) == [])
        }
    }

    @Test
    func `A registration that another node ends is announced, and so is each that a token reset ends`() async throws {
        try await withNodes { here, there in
            let other = Destination(environment: .production, device: destination.device, app: AppID(rawValue: .max))
            _ = try await here.register(other, tokenKeyID: 1, at: moment)
            _ = try await here.claim([device])
            _ = try await there.end(destination, at: moment)
            #expect(try await here.drainAnnouncements(limit: 10) == [.ended(destination)])
            _ = try await there.register(destination, tokenKeyID: 1, at: moment)
            _ = try await there.store([entry()])[0].get()
            try await there.renewTokens(of: device, tokenKeyID: 1, at: moment)
            #expect(
                Set(try await here.drainAnnouncements(limit: 10)) == [
                    .changed(destination), .ended(destination), .ended(other),
                ])
            // A node announces nothing to itself, and nothing that did not end.
            try await here.renewTokens(of: device, tokenKeyID: 1, at: moment)
            _ = try await there.end(
                Destination(environment: .production, device: other.device, app: AppID(rawValue: 5)), at: moment)
            #expect(try await here.drainAnnouncements(limit: 10) == [])
        }
    }

    /// - Parameter isExecuted: whether the server has executed the removal, and only the answer was lost.
    @Test(arguments: [true, false])
    func `Announcements whose removal failed come with the next answer`(isExecuted: Bool) async throws {
        try await withNodes { here, there in
            _ = try await here.claim([device])
            _ = try await there.end(destination, at: moment)
            func execute(_ command: String) async throws {
                _ = try await there.writers[0].execute([PostgresStatement(assembled: command)])
            }
            try await execute(
                """
                CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN RAISE EXCEPTION 'The test wants this removal to fail.'; END $$
                """)
            try await execute(
                """
                CREATE TRIGGER fail BEFORE DELETE ON carillon.announcement
                FOR EACH STATEMENT EXECUTE FUNCTION fail()
                """)
            await #expect(throws: StoreError.self) { try await here.drainAnnouncements(limit: 10) }
            try await execute("DROP TRIGGER fail ON carillon.announcement")
            if isExecuted { try await execute("DELETE FROM carillon.announcement") }
            #expect(try await here.drainAnnouncements(limit: 10) == [.ended(destination)])
            #expect(try await here.drainAnnouncements(limit: 10) == [])
        }
    }

    @Test
    func `Of two nodes that take a device at once, the one with the older epoch learns that it lost the device`()
        async throws
    {
        try await withNodes { here, there in
            for _ in 0..<20 {
                async let one = here.claim([device])
                async let two = there.claim([device])
                let holds = [try #require(try await one.first), try #require(try await two.first)]
                #expect(abs(Int64(holds[0].epoch) - Int64(holds[1].epoch)) == 1)
                let (winner, loser) = holds[0].epoch > holds[1].epoch ? (here, there) : (there, here)
                let newest = max(holds[0].epoch, holds[1].epoch)
                #expect(try await loser.drainAnnouncements(limit: 10).contains(.claimed(device, epoch: newest)))
                // The winner may have an announcement from the round before, but none of this epoch.
                #expect(try await !winner.drainAnnouncements(limit: 10).contains(.claimed(device, epoch: newest)))
                // The loser cannot release it, and what it stores is announced to the winner.
                try await loser.release([holds[0].epoch == newest ? holds[1] : holds[0]])
                _ = try await loser.store([entry()])[0].get()
                #expect(try await winner.drainAnnouncements(limit: 10) == [.changed(destination)])
            }
        }
    }

    @Test
    func `The former holder learns that a device was taken, and can no longer release it`() async throws {
        try await withNodes { here, there in
            let first = try #require(try await here.claim([device]).first)
            let second = try #require(try await there.claim([device]).first)
            #expect(second.epoch == first.epoch + 1 && second.previousNumber >= first.previousNumber)
            #expect(try await here.drainAnnouncements(limit: 10) == [.claimed(device, epoch: second.epoch)])
            try await here.release([first])
            _ = try await here.store([entry()])[0].get()
            #expect(try await there.drainAnnouncements(limit: 10) == [.changed(destination)])
            try await there.release([second])
            _ = try await here.store([entry()])[0].get()
            #expect(try await there.drainAnnouncements(limit: 10) == [])
        }
    }

    @Test
    func `If a node takes a device while another node stores for it, the notification is found, whichever comes first`()
        async throws
    {
        try await withNodes { here, there in
            @Sendable func store() async -> Result<MailboxVersion, StoreError> {
                // On a slow machine the read holds the row for long.
                while true {
                    let result = await there.store([entry()])[0]
                    if result != .failure(.rowLocked) { return result }
                }
            }
            for _ in 0..<50 {
                async let stored = store()
                let hold = try #require(try await here.claim([device]).first)
                let found = try await here.entries(of: device)
                let version = try await stored.get()
                let announced = try await here.drainAnnouncements(limit: 10)
                #expect(found.map(\.version) == [version] || announced == [.changed(destination)])
                try await here.release([hold])
                _ = await here.remove([MailboxReference(destination: destination, version: version)])
            }
        }
    }

    @Test
    func `A node's holds end when the node ends or gets a new lease`() async throws {
        try await withNodes { here, there in
            let configuration = here.configuration
            _ = try await here.claim([device])
            _ = try await there.store([entry()])[0].get()
            let restarted = try await PostgresStore.open(configuration)
            _ = try await there.store([entry()])[0].get()
            #expect(try await restarted.drainAnnouncements(limit: 10) == [])
            await restarted.close()
        }
    }

    @Test
    func `A lease that has run out ends the node's term at once, and a renewal begins another`() async throws {
        // So that nothing renews the lease but this test.
        try await withNodes(pollInterval: .seconds(3600)) { here, there in
            let terms = { here.holdTerm }
            let first = terms()
            _ = try await here.claim([device])
            // As after a pause of the process. By the server's clock the lease still runs.
            here.lease.withLock { $0.renewed -= .seconds(PostgresStore.leaseSeconds) }
            let second = terms()
            #expect(second > first)
            try await here.renewLease()
            #expect(terms() > second && terms() == terms())
            // The devices were given up, so nothing is announced to this node.
            _ = try await there.store([entry()])[0].get()
            #expect(try await here.drainAnnouncements(limit: 10) == [])
        }
    }

    @Test
    func `Nodes that have been gone for long hold no devices`() async throws {
        try await withNodes { here, there in
            _ = try await here.claim([device])
            _ = try await there.store([entry()])[0].get()
            let connection = PostgresConnection(here.configuration.location, name: "test")
            _ = try await connection.execute(
                "UPDATE carillon.node SET until = clock_timestamp() - interval '2 minutes' WHERE name = 'here'")
            #expect(try await !there.removeGoneNodes())
            _ = try await there.store([entry()])[0].get()
            #expect(try await here.drainAnnouncements(limit: 10) == [])
            await connection.close()
        }
    }

    @Test
    func `A node that is gone can be forgotten, with its holds and announcements; one that runs cannot`() async throws {
        // So that the node does not renew its lease.
        try await withNodes(pollInterval: .seconds(3600)) { here, there in
            _ = try await there.claim([device])
            _ = try await here.store([entry()])[0].get()
            await #expect(throws: StoreError.self) { try await here.remove(node: "there") }
            _ = try await here.writers[0].execute(
                "UPDATE carillon.node SET until = clock_timestamp() WHERE name = 'there'")
            #expect(try await here.nodes().map(\.state) == [.active, .gone])
            await #expect(throws: StoreError.self) { try await here.drain(node: "there", over: .zero) }
            try await here.remove(node: "there")
            #expect(try await here.nodes().map(\.name) == ["here"])
            let left = try await here.writers[0].execute("SELECT count(*) FROM carillon.announcement")
            #expect(left.first?.integer(0) == 0)
        }
    }

    /// Gives a node more devices and announcements than one statement may change, and makes statements fail that change
    /// more. A statement has nine seconds, which are not enough for all devices of a large node.
    private func makeLarge(_ node: [UInt8], _ store: PostgresStore) async throws {
        let (count, page) = (Int64(2 * PostgresStore.holdsPerPage + 1), PostgresStore.holdsPerPage)
        _ = try await store.writers[0].execute(
            "INSERT INTO carillon.device (device, environment, node) SELECT number, 1, $1 FROM generate_series(101, 100 + $2) AS number",
            [.bytes(node), .integer(count)])
        _ = try await store.writers[0].execute(
            """
            INSERT INTO carillon.announcement (node, device, environment, app, epoch)
            SELECT $1, number, 1, 1, 1 FROM generate_series(101, 100 + $2) AS number
            """, [.bytes(node), .integer(count)])
        for command in [
            """
            CREATE FUNCTION check_count() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF (SELECT count(*) FROM changed) > \(page) THEN RAISE EXCEPTION 'too many rows'; END IF;
                RETURN NULL;
            END $$
            """,
            """
            CREATE TRIGGER check_count AFTER UPDATE ON carillon.device REFERENCING OLD TABLE AS changed
            FOR EACH STATEMENT EXECUTE FUNCTION check_count()
            """,
            """
            CREATE TRIGGER check_count AFTER DELETE ON carillon.announcement REFERENCING OLD TABLE AS changed
            FOR EACH STATEMENT EXECUTE FUNCTION check_count()
            """,
        ] {
            _ = try await store.writers[0].execute([PostgresStatement(assembled: command)])
        }
    }

    private func expectNothingHeld(by node: [UInt8], _ store: PostgresStore) async throws {
        let left = try await store.writers[0].execute(
            """
            SELECT (SELECT count(*) FROM carillon.device WHERE node = $1)
                + (SELECT count(*) FROM carillon.announcement WHERE node = $1)
            """, [.bytes(node)])
        #expect(left.first?.integer(0) == 0)
    }

    enum LargeNode: CaseIterable {
        case restarts
        case renewsItsLease
        case ends
        case isRemoved
        case isReplaced
        case isGone
    }

    @Test(arguments: LargeNode.allCases)
    func `A node with many devices gives them up page by page`(_ what: LargeNode) async throws {
        try await withNodes(pollInterval: .seconds(3600)) { here, there in
            let node = there.configuration.node
            try await makeLarge(node.identity, here)
            func end(_ condition: String) async throws {
                _ = try await here.writers[0].execute([
                    PostgresStatement(
                        assembled: "UPDATE carillon.node SET until = clock_timestamp() - \(condition)::interval "
                            + "WHERE name = 'there'")
                ])
            }
            switch what {
            case .restarts: await (try PostgresStore.open(there.configuration)).close()
            case .renewsItsLease:
                there.lease.withLock { $0.renewed -= .seconds(PostgresStore.leaseSeconds) }
                try await there.renewLease()
            case .ends: await there.endLease()
            case .isRemoved:
                try await end("'1 second'")
                try await here.remove(node: "there")
            case .isReplaced:
                try await end("'1 second'")
                let other = PostgresNode(name: "there", identity: [3])
                #expect(
                    try await PostgresStore.join(
                        as: other, start: [3], isStart: true, clock: DatabaseClock(), on: here.control) == nil)
            case .isGone:
                try await end("'2 minutes'")
                var pages = 1
                while try await here.removeGoneNodes() { pages += 1 }
                #expect(pages == 3)
            }
            try await expectNothingHeld(by: node.identity, here)
        }
    }

    @Test
    func `A drained node is active again after it was started again, but not after it was away for a while`()
        async throws
    {
        let configuration = try await testConfiguration()
        let store = try await PostgresStore.open(configuration)
        try await store.announce(peer: "192.0.2.1:4000")
        try await store.drain(node: "here", over: .seconds(3))
        #expect(try await store.nodes().map(\.state) == [.draining(over: .seconds(3))])
        try await store.drained()
        try await store.drain(node: "here", over: .seconds(9))
        _ = try await PostgresStore.join(
            as: configuration.node, start: store.start, isStart: false, clock: DatabaseClock(), on: store.writers[0])
        #expect(try await store.nodes().map(\.state) == [.drained])
        #expect(try await store.nodes().first?.peer == "192.0.2.1:4000")
        let again = try await PostgresStore.open(configuration)
        #expect(try await again.nodes().map(\.state) == [.active])
        await again.close()
        await store.close()
    }
}

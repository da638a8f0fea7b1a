import CommonTesting
import Delivery
import Dispatch
import Notifications
import PostgresClient
import PostgresTesting
import Storage
import Testing

@testable import PostgresStore
import PostgresSupport

@Suite("Whether a database may be used", .timeLimit(.minutes(2)))
struct PostgresStoreOpeningTests {
    private func expectRefusal(
        _ words: String,
        _ configuration: PostgresStore.Configuration,
        sourceLocation: SourceLocation = #_sourceLocation,
    ) async {
        await #expect(sourceLocation: sourceLocation) {
            await (try PostgresStore.open(configuration)).close()
        } throws: {
            "\($0)".contains(words)
        }
    }

    /// Makes the tables.
    private func prepare(_ configuration: PostgresStore.Configuration) async throws {
        await (try PostgresStore.open(configuration)).close()
    }

    private func makeTeam() throws -> Team { Team(id: try #require(TeamID(rawValue: "ABCDE12345")), name: "Shop") }

    private func execute(_ command: String, in location: PostgresLocation) async throws {
        let connection = PostgresConnection(location, name: "test")
        _ = try await connection.execute([PostgresStatement(assembled: command)])
        await connection.close()
    }

    @Test
    func `Another store key is refused, and the right one still works`() async throws {
        let right = try await testConfiguration()
        try await prepare(right)
        var wrong = right
        wrong.storeKey = try #require(StoreKey(hexadecimal: String(repeating: "b", count: 64)))
        await expectRefusal("The store key is not the one", wrong)
        try await prepare(right)
    }

    @Test
    func `The tables of a newer version are refused`() async throws {
        let configuration = try await testConfiguration()
        try await prepare(configuration)
        try await execute("UPDATE carillon.schema_version SET newest = 900, oldest = 900", in: configuration.location)
        await expectRefusal("newer version of Carillon (schema 900)", configuration)
    }

    @Test
    func `The list of administrators is added to tables of the release before, whose nodes do not change it`()
        async throws
    {
        var configuration = try await testConfiguration()
        configuration.pollInterval = .milliseconds(10)
        try await prepare(configuration)
        // The first seven migrations are those of the release before.
        let later = PostgresSchema.migrations.dropFirst(7).joined().compactMap {
            $0.description.firstMatch(of: /CREATE TABLE (carillon\.\w+)/).map { String($0.1) }
        }
        #expect(later.contains("carillon.administrator_certificate"))
        try await execute("DROP TABLE " + later.joined(separator: ", "), in: configuration.location)
        try await execute("UPDATE carillon.schema_version SET newest = 7", in: configuration.location)
        let store = try await PostgresStore.open(configuration)
        let administrator = AdministratorCertificate(
            serial: try #require(CertificateSerial("41" + String(repeating: "0", count: 30))),
            made: Timestamp(milliseconds: 1), validUntil: Timestamp(milliseconds: .max))
        _ = try await store.apply(.createAdministrator(administrator, at: Timestamp(milliseconds: 1)))
        // A node of the release before makes a team.
        try await execute(
            """
            WITH made AS (INSERT INTO carillon.team VALUES ('ABCDE12345', 'Shop'))
            UPDATE carillon.accounts SET version = version + 1
            """, in: configuration.location)
        try await wait(while: store.current.teams.isEmpty)
        #expect(store.current.administrators == [administrator.serial: administrator])
        let revoked = try await store.apply(
            .revokeAdministrator(administrator.serial, at: Timestamp(milliseconds: 2)))
        #expect(revoked.hasRevokedAdministrator(administrator.serial))
        await store.close()
    }

    @Test
    func `PostgreSQL 14 is refused`() throws {
        try PostgresServerCheck.check(version: 150_000, named: "15.0")
        #expect {
            try PostgresServerCheck.check(version: 140_017, named: "14.17")
        } throws: {
            "\($0)".contains("PostgreSQL 14.17 is too old")
        }
    }

    @Test
    func `A server that may lose commits is refused, unless a setting allows it`() async throws {
        var configuration = try await testConfiguration()
        try await TestServer.set("synchronous_commit", to: "off", in: configuration.location)
        await expectRefusal("synchronous_commit is off", configuration)
        configuration.allowsAsynchronousCommit = true
        try await prepare(configuration)
    }

    @Test
    func `A read-only database is refused, also if it becomes read-only later`() async throws {
        let configuration = try await testConfiguration()
        let store = try await PostgresStore.open(configuration)
        #expect(await store.trouble() == nil)
        try await TestServer.set("default_transaction_read_only", to: "on", in: configuration.location)
        try await wait(while: await store.trouble()?.cause.contains("read-only") != true)
        try await TestServer.set("default_transaction_read_only", to: "off", in: configuration.location)
        try await wait(while: await store.trouble() != nil)
        await store.close()
        try await TestServer.set("default_transaction_read_only", to: "on", in: configuration.location)
        await expectRefusal("read-only", configuration)
    }

    @Test
    func `A client that stops in a transaction does not keep its locks`() async throws {
        let location = try await TestServer.makeDatabase()
        var limits = PostgresLimits()
        limits.timeLimit = .seconds(2)
        let setUp = PostgresServerCheck.setUp(limits)
        let stopped = PostgresConnection(location, name: "stopped", limits: limits, setUp: setUp)
        let other = PostgresConnection(location, name: "other")
        _ = try await other.execute("CREATE TABLE item (number bigint)")
        _ = try await other.execute("INSERT INTO item VALUES (1)")
        let (isLocked, isFree) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let transaction = Task {
            try await stopped.transaction { transaction throws(PostgresError) in
                try transaction.execute("SELECT 1 FROM item FOR UPDATE")
                isLocked.signal()
                isFree.wait()
                try transaction.execute("SELECT 1 FROM item")
            }
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                isLocked.wait()
                continuation.resume()
            }
        }
        #expect(try await other.execute("SELECT 1::bigint FROM item FOR UPDATE").count == 1)
        isFree.signal()
        await #expect {
            try await transaction.value
        } throws: {
            ($0 as? PostgresError)?.kind == .notConnected
        }
        // It connects again.
        try await wait(while: (try? await stopped.execute("SELECT 1")) == nil)
        await stopped.close()
        await other.close()
    }

    @Test(arguments: [-60_000, 60_000] as [Int64])
    func `A clock that differs from the server's is refused`(_ difference: Int64) async throws {
        var configuration = try await testConfiguration()
        let connection = PostgresConnection(configuration.location, name: "test")
        let rows = try await connection.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
        await connection.close()
        let now = try #require(rows.first?.integer(0))
        configuration.machineTime = { Timestamp(milliseconds: UInt64(clamping: now + difference)) }
        await expectRefusal("differ by", configuration)
    }

    // MARK: Nodes

    @Test
    func `Several nodes that start at once with an empty database all get the same tables and secrets`() async throws {
        let configuration = try await testConfiguration()
        let name = try #require(SecretName(rawValue: "new"))
        let kept = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for number in 1...4 as ClosedRange<UInt8> {
                group.addTask {
                    var own = configuration
                    own.node = PostgresNode(name: "node\(number)", identity: [number])
                    let store = try await PostgresStore.open(own)
                    let kept = try await store.secrets.keep([number], as: name)
                    await store.close()
                    return kept
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(kept.count == 4 && Set(kept).count == 1, "\(kept)")
    }

    @Test
    func `A node with the name of a running node is refused; a restart of the same node is not`() async throws {
        let configuration = try await testConfiguration()
        let first = try await PostgresStore.open(configuration)
        var other = configuration
        other.node = PostgresNode(name: "here", identity: [2])
        await expectRefusal("Another node has the name here", other)
        var neighbour = configuration
        neighbour.node = PostgresNode(name: "there", identity: [3])
        try await prepare(neighbour)
        // The node was killed and starts anew.
        let restarted = try await PostgresStore.open(configuration)
        await restarted.close()
        await first.close()
        try await prepare(other)
    }

    @Test
    func `Of two processes with copies of one data folder, the later is the node`() async throws {
        var configuration = try await testConfiguration()
        configuration.leaseRenewal = .zero
        configuration.pollInterval = .milliseconds(10)
        let earlier = try await PostgresStore.open(configuration)
        let later = try await PostgresStore.open(configuration)
        let device = DeviceKey(environment: .production, device: DeviceID(rawValue: 1))
        _ = try await later.claim([device])
        // The earlier one uses its streams no longer, and takes nothing back.
        try await wait(while: earlier.isCurrent || earlier.holdTerm == 0)
        #expect(await earlier.trouble()?.cause.contains("Another process has started as the node here") == true)
        await earlier.close()
        let connection = PostgresConnection(configuration.location, name: "test")
        let held = try await connection.execute("SELECT 1 FROM carillon.device WHERE node IS NOT NULL")
        #expect(held.count == 1 && later.isCurrent && later.holdTerm == 0)
        // As soon as the other one has ended, a process that was kept out is the node.
        let again = try await PostgresStore.open(configuration)
        try await wait(while: later.isCurrent)
        await again.close()
        try await wait(while: !later.isCurrent)
        await later.close()
        await connection.close()
    }

    @Test
    func `A node whose lease has run out begins a new term, and is unusable while another has its name`() async throws {
        var configuration = try await testConfiguration()
        configuration.leaseRenewal = .zero
        configuration.pollInterval = .milliseconds(10)
        let store = try await PostgresStore.open(configuration)
        #expect(store.isCurrent && store.holdTerm == 0)
        try await execute(
            "UPDATE carillon.node SET until = clock_timestamp() - interval '1 second'", in: configuration.location)
        try await wait(while: store.holdTerm == 0)
        #expect(store.isCurrent)
        // In one statement, so that the node does not renew its lease in between.
        try await execute(
            "UPDATE carillon.node SET identity = '\\x02', start = NULL, until = clock_timestamp() + interval '1 hour'",
            in: configuration.location)
        try await wait(while: store.isCurrent)
        #expect(await store.trouble()?.cause.contains("Another node has the name here") == true)
        try await execute("DELETE FROM carillon.node", in: configuration.location)
        try await wait(while: !store.isCurrent)
        #expect(await store.trouble() == nil)
        await store.close()
    }

    // MARK: A server that ends

    @Test(.timeLimit(.minutes(2)))
    func `A store that cannot read changes is unusable, and recovers by itself`() async throws {
        try await TestServer.withOwn { server in
            var configuration = try await testConfiguration(try PostgresLocation(try await server.makeURL()))
            configuration.maximumSilence = .seconds(2)
            configuration.pollInterval = .milliseconds(20)
            let store = try await PostgresStore.open(configuration)
            let team = try makeTeam()
            _ = try await store.apply(.createTeam(team))
            try await server.crash()
            try await wait(while: store.isCurrent)
            #expect(await store.trouble()?.cause.contains("PostgreSQL cannot be reached") == true)
            try await server.start()
            try await wait(while: !store.isCurrent)
            try await wait(while: await store.trouble() != nil)
            #expect(store.current.teams[team.id] == team)
            await store.close()
        }
    }

    @Test
    func `Changes and secrets of other processes are found`() async throws {
        var configuration = try await testConfiguration()
        configuration.pollInterval = .milliseconds(10)
        let (one, other) = (try await PostgresStore.open(configuration), try await PostgresStore.open(configuration))
        let team = try makeTeam()
        _ = try await one.apply(.createTeam(team))
        try await wait(while: other.current.teams[team.id] == nil)
        let name = try #require(SecretName(rawValue: "new"))
        var names = other.secrets.nameStream().makeAsyncIterator()
        _ = try await one.secrets.keep([1, 2, 3], as: name)
        while let found = await names.next(), found != name {}
        #expect(try await other.secrets.secret(name) == [1, 2, 3])
        await one.close()
        await other.close()
    }
}

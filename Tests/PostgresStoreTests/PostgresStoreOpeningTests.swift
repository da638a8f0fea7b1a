import Delivery
import Notifications
import PostgresClient
import PostgresTesting
import Testing

@testable import PostgresStore

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

    @Test("Another store key is refused, and the right one still works")
    func wrongKey() async throws {
        let right = try await testConfiguration()
        try await prepare(right)
        var wrong = right
        wrong.storeKey = try #require(StoreKey(hexadecimal: String(repeating: "b", count: 64)))
        await expectRefusal("The store key is not the one", wrong)
        try await prepare(right)
    }

    @Test("The tables of a newer version are refused")
    func newerTables() async throws {
        let configuration = try await testConfiguration()
        try await prepare(configuration)
        try await execute("UPDATE carillon.schema_version SET newest = 900, oldest = 900", in: configuration.location)
        await expectRefusal("newer version of Carillon (schema 900)", configuration)
    }

    @Test("PostgreSQL 14 is refused")
    func oldServer() throws {
        try PostgresStore.check(version: 150_000, named: "15.0")
        #expect {
            try PostgresStore.check(version: 140_017, named: "14.17")
        } throws: {
            "\($0)".contains("PostgreSQL 14.17 is too old")
        }
    }

    @Test("A server that may lose commits is refused unless that is allowed")
    func asynchronousCommit() async throws {
        var configuration = try await testConfiguration()
        try await TestServer.set("synchronous_commit", to: "off", in: configuration.location)
        await expectRefusal("synchronous_commit is off", configuration)
        configuration.allowsAsynchronousCommit = true
        try await prepare(configuration)
    }

    @Test("A read-only database is refused, and found out later as well")
    func readOnly() async throws {
        let configuration = try await testConfiguration()
        let store = try await PostgresStore.open(configuration)
        #expect(await store.trouble() == nil)
        try await TestServer.set("default_transaction_read_only", to: "on", in: configuration.location)
        while await store.trouble()?.cause.contains("read-only") != true { await Task.yield() }
        try await TestServer.set("default_transaction_read_only", to: "off", in: configuration.location)
        while await store.trouble() != nil { await Task.yield() }
        await store.close()
        try await TestServer.set("default_transaction_read_only", to: "on", in: configuration.location)
        await expectRefusal("read-only", configuration)
    }

    @Test("A machine with a wrong clock is refused", arguments: [-60_000, 60_000] as [Int64])
    func wrongClock(_ difference: Int64) async throws {
        var configuration = try await testConfiguration()
        let connection = PostgresConnection(configuration.location, name: "test")
        let rows = try await connection.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
        await connection.close()
        let now = try #require(rows.first?.integer(0))
        configuration.machineTime = { Timestamp(milliseconds: UInt64(clamping: now + difference)) }
        await expectRefusal("differ by", configuration)
    }

    // MARK: One service at a time

    @Test("A second service is refused until the first has ended; a restart of the first is not")
    func secondService() async throws {
        let configuration = try await testConfiguration()
        let first = try await PostgresStore.open(configuration)
        var other = configuration
        other.user = PostgresUser(name: "there", identity: [2])
        await expectRefusal("A service on here uses this database", other)
        // It was killed and starts anew.
        let restarted = try await PostgresStore.open(configuration)
        await restarted.close()
        await first.close()
        try await prepare(other)
    }

    @Test("A service whose hold has passed to another relies on nothing, until it has it again")
    func lostHold() async throws {
        var configuration = try await testConfiguration()
        configuration.holdRenewal = .zero
        configuration.pollInterval = .milliseconds(10)
        let store = try await PostgresStore.open(configuration)
        #expect(store.isCurrent)
        // It was stopped for so long that another service began.
        try await execute("DELETE FROM carillon.node", in: configuration.location)
        let other = PostgresUser(name: "there", identity: [2])
        let connection = PostgresConnection(configuration.location, name: "test")
        var holder: String? = "nobody has tried"
        while holder != nil {
            holder = try await PostgresStore.takeHold(for: other, on: connection)
            if holder != nil { try await execute("DELETE FROM carillon.node", in: configuration.location) }
        }
        while store.isCurrent { await Task.yield() }
        #expect(await store.trouble()?.cause.contains("A service on there uses this database") == true)
        try await execute("DELETE FROM carillon.node", in: configuration.location)
        while !store.isCurrent { await Task.yield() }
        #expect(await store.trouble() == nil)
        await connection.close()
        await store.close()
    }

    // MARK: A server that ends

    @Test("A store that hears nothing relies on nothing, and is well again by itself", .timeLimit(.minutes(2)))
    func silence() async throws {
        try await TestServer.withOwn { server in
            var configuration = try await testConfiguration(try PostgresLocation(try await server.makeURL()))
            configuration.maximumSilence = .seconds(2)
            configuration.pollInterval = .milliseconds(20)
            let store = try await PostgresStore.open(configuration)
            let team = try makeTeam()
            _ = try await store.apply(.createTeam(team))
            try await server.crash()
            while store.isCurrent { try await Task.sleep(for: .milliseconds(10)) }
            #expect(await store.trouble()?.cause.contains("PostgreSQL cannot be reached") == true)
            try await server.start()
            while !store.isCurrent { try await Task.sleep(for: .milliseconds(10)) }
            while await store.trouble() != nil { try await Task.sleep(for: .milliseconds(10)) }
            #expect(store.current.teams[team.id] == team)
            await store.close()
        }
    }

    @Test("Changes and secrets of another process are found")
    func changes() async throws {
        var configuration = try await testConfiguration()
        configuration.pollInterval = .milliseconds(10)
        let (one, other) = (try await PostgresStore.open(configuration), try await PostgresStore.open(configuration))
        let team = try makeTeam()
        _ = try await one.apply(.createTeam(team))
        while other.current.teams[team.id] == nil { await Task.yield() }
        let name = try #require(SecretName(rawValue: "new"))
        var names = other.secrets.names().makeAsyncIterator()
        _ = try await one.secrets.keep([1, 2, 3], as: name)
        while let found = await names.next(), found != name {}
        #expect(try await other.secrets.secret(name) == [1, 2, 3])
        await one.close()
        await other.close()
    }
}

import CommonTesting
import PostgresClient
import PostgresTesting
import Testing

@Suite("A connection to PostgreSQL")
struct PostgresConnectionTests {
    private func withConnection(
        limits: PostgresLimits = PostgresLimits(),
        _ body: (PostgresConnection) async throws -> Void,
    ) async throws {
        let connection = PostgresConnection(try await TestServer.makeDatabase(), name: "test", limits: limits)
        try await body(connection)
        await connection.close()
    }

    /// As a TCP proxy does whose server is down.
    @Test
    func `If the first host accepts and closes, the next one is used`() async throws {
        let closing = try ClosingServer()
        defer { closing.stop() }
        let url = try await TestServer.makeURL().replacing("host=", with: "host=127.0.0.1,")
        let connection = PostgresConnection(
            try PostgresLocation(url + "&port=\(closing.port),5432"), name: "test")
        #expect(try await connection.execute("SELECT 1::bigint").first?.integer(0) == 1)
        await connection.close()
    }

    @Test(arguments: [0, 1, 10_000])
    func `An array is one parameter, whatever its length`(_ count: Int) async throws {
        try await withConnection { connection in
            let integers = (0..<count).map { $0 % 3 == 0 ? nil : Int64($0) }
            let bytes = (0..<count).map { $0 % 5 == 0 ? nil : [UInt8](repeating: 1, count: $0 % 7) }
            let rows = try await connection.execute(
                "SELECT a, b FROM unnest($1::bigint[], $2::bytea[]) AS item (a, b)",
                [.integers(integers), .byteArrays(bytes)])
            #expect(rows.map { $0.integer(0) } == integers)
            #expect(rows.map { $0.bytes(1) } == bytes)
        }
    }

    @Test
    func `Statements that wait together have their own results and errors`() async throws {
        try await withConnection { connection in
            _ = try await connection.execute("CREATE TABLE item (number bigint PRIMARY KEY)")
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        do throws(PostgresError) {
                            let rows = try await connection.execute(
                                "INSERT INTO item VALUES ($1) RETURNING number", [.integer(Int64(number / 2))])
                            #expect(rows.first?.integer(0) == Int64(number / 2))
                        } catch {
                            #expect(error.kind == .uniqueViolation)
                        }
                    }
                }
            }
            #expect(try await connection.execute("SELECT count(*) FROM item").first?.integer(0) == 100)
        }
    }

    @Test
    func `After a server was read-only, changes work again without a restart`() async throws {
        let location = try await TestServer.makeDatabase()
        let name = try #require(location.description.split(separator: "/").last)
        let (before, other) = (PostgresConnection(location, name: "test"), PostgresConnection(location, name: "test"))
        _ = try await before.execute("CREATE TABLE item (number bigint)")
        func set(_ value: String) async throws {
            // This session began before, so it is not read-only.
            let command = "ALTER DATABASE \(name) SET default_transaction_read_only = \(value)"
            _ = try await other.execute([PostgresStatement(once: command, [])])
        }
        try await set("on")
        var limits = PostgresLimits()
        limits.readOnlyPause = .milliseconds(50)
        let connection = PostgresConnection(location, name: "test", limits: limits)
        await #expect {
            _ = try await connection.execute("INSERT INTO item VALUES (1)")
        } throws: {
            ($0 as? PostgresError)?.kind == .readOnly
        }
        // Sessions that are open keep the state that they began with.
        try await set("off")
        try await wait(while: (try? await connection.execute("INSERT INTO item VALUES (2)")) == nil)
        #expect(try await before.execute("SELECT number FROM item").count == 1)
        for connection in [before, other, connection] { await connection.close() }
    }

    @Test
    func `A statement that is used once is not kept prepared`() async throws {
        try await withConnection { connection in
            for number in 0..<5 as Range<Int64> {
                let statement = PostgresStatement(once: "SELECT $1 + \(number)", [.integer(10)])
                #expect(try await connection.execute([statement]).first?.first?.integer(0) == 10 + number)
            }
            let kept = try await connection.execute(
                "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%+%'")
            // The command that counts contains a plus sign too.
            #expect(kept.first?.integer(0) == 1)
            await #expect(throws: PostgresError.self) {
                _ = try await connection.execute([PostgresStatement(once: "SELECT nothing", [])])
            }
            #expect(try await connection.execute("SELECT 1::bigint").first?.integer(0) == 1)
        }
    }

    @Test
    func `A statement that the server refuses does not affect those that are prepared later`() async throws {
        try await withConnection { connection in
            await #expect(throws: PostgresError.self) {
                _ = try await connection.execute([
                    PostgresStatement("SELECT * FROM missing"), PostgresStatement("SELECT 1::bigint"),
                ])
            }
            let (two, one) = (
                try await connection.execute("SELECT 2::bigint"), try await connection.execute("SELECT 1::bigint")
            )
            #expect(two.first?.integer(0) == 2 && one.first?.integer(0) == 1)
        }
    }

    @Test
    func `Without a server, statements fail at once, and no password is shown`() async throws {
        let url = "postgresql://carillon:Secret123@127.0.0.1:1/carillon?connect_timeout=2"
        let location = try PostgresLocation(url)
        #expect(location.hasPassword)
        #expect(location.description == "127.0.0.1:1/carillon")
        let connection = PostgresConnection(location, name: "test")
        await #expect {
            _ = try await connection.execute("SELECT 1")
        } throws: {
            ($0 as? PostgresError)?.kind == .notConnected && !"\($0)".contains("Secret123")
        }
        await connection.close()
    }
}

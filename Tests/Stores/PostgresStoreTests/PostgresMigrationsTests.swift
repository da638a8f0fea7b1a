import CommonTesting
import Delivery
import Dispatch
import PostgresClient
import PostgresSupport
import PostgresTesting
import Storage
import Testing

@Suite("Migrations beside running nodes", .timeLimit(.minutes(2)))
struct PostgresMigrationsTests {
    private let first: [StaticString] = ["CREATE TABLE trial.item (number bigint)"]

    private func migrations(_ second: StaticString) -> PostgresMigrations {
        PostgresMigrations(schema: "trial", oldest: 1, [first, [second]])
    }

    private func connection(_ location: PostgresLocation, _ limits: PostgresLimits = .init()) -> PostgresConnection {
        PostgresConnection(location, name: "test", limits: limits, setUp: PostgresServerCheck.setUp(limits))
    }

    /// Makes the first table, and calls `body` while another session has a transaction that has read it.
    private func withReader(
        _ body: (PostgresLocation, _ release: @escaping @Sendable () -> Void) async throws -> Void
    ) async throws {
        let location = try await TestServer.makeDatabase()
        let own = connection(location)
        #expect(try await PostgresMigrations(schema: "trial", oldest: 1, [first]).apply(own) == nil)
        let (isReading, isFree) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let reader = PostgresConnection(location, name: "reader")
        let reading = Task {
            try await reader.transaction { transaction throws(PostgresError) in
                try transaction.execute("SELECT 1 FROM trial.item")
                isReading.signal()
                isFree.wait()
            }
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                isReading.wait()
                continuation.resume()
            }
        }
        try await body(location) { isFree.signal() }
        isFree.signal()
        try await reading.value
        await reader.close()
        await own.close()
    }

    @Test
    func `A migration that waits for a long transaction does not keep others waiting, and is made after it`()
        async throws
    {
        try await withReader { location, release in
            let (starting, other) = (connection(location), connection(location))
            _ = try await other.execute("SET lock_timeout = 4000")
            let apply = Task {
                var patience = PostgresMigrations.Patience()
                patience.pause = .milliseconds(1)
                return try await migrations("ALTER TABLE trial.item ADD COLUMN more bigint").apply(starting, patience)
            }
            // The migration waits for the reader, and this one behind the migration.
            for _ in 0..<20 {
                try await wait(while: try await !isWaiting("ALTER TABLE", location))
                _ = try await other.execute("INSERT INTO trial.item VALUES (1)")
            }
            release()
            #expect(try await apply.value == nil)
            #expect(try await other.execute("SELECT more FROM trial.item").count == 20)
            await starting.close()
            await other.close()
        }
    }

    private func isWaiting(_ command: String, _ location: PostgresLocation) async throws -> Bool {
        let watcher = connection(location)
        let rows = try await watcher.execute(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1
            """, [.text(command + "%")])
        await watcher.close()
        return rows.first?.integer(0) ?? 0 > 0
    }

    @Test
    func `A start that cannot get the lock names the session that has it`() async throws {
        try await withReader { location, _ in
            let starting = connection(location)
            var patience = PostgresMigrations.Patience()
            (patience.lock, patience.total) = (.milliseconds(10), .zero)
            await #expect {
                try await migrations("ALTER TABLE trial.item ADD COLUMN more bigint").apply(starting, patience)
            } throws: { error in
                guard let error = error as? PostgresError else { return false }
                let text = error.startError(schema: "trial").cause
                return text.contains("lock on trial.item for") && text.contains("pg_terminate_backend(")
            }
            await starting.close()
        }
    }

    @Test
    func `A migration may take longer than any other statement`() async throws {
        var limits = PostgresLimits()
        limits.timeLimit = .seconds(1)
        let starting = connection(try await TestServer.makeDatabase(), limits)
        #expect(
            try await migrations("INSERT INTO trial.item SELECT 1 FROM pg_sleep(2)").apply(starting) == nil)
        #expect(try await starting.execute("SELECT number FROM trial.item").count == 1)
        // The limits of ordinary statements are back.
        await #expect(throws: PostgresError.self) { try await starting.execute("SELECT pg_sleep(2)") }
        await starting.close()
    }
}

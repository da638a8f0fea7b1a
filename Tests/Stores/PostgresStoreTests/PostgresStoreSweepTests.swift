import Delivery
import Notifications
import PostgresClient
import PostgresSupport
import PostgresTesting
import Testing

@testable import PostgresStore

@Suite("How expired notifications are found", .timeLimit(.minutes(2)))
struct PostgresStoreSweepTests {
    private let moment = Timestamp(milliseconds: 1_700_000_000_000)

    /// If a column of the mailbox were in an index, each stored notification would be written to all indexes.
    @Test
    func `No index has a column that storing a notification changes`() async throws {
        let configuration = try await testConfiguration()
        await (try PostgresStore.open(configuration)).close()
        let connection = PostgresConnection(configuration.location, name: "test")
        let rows = try await connection.execute(
            """
            SELECT pg_get_indexdef(indexrelid)::text FROM pg_index
            WHERE indrelid = 'carillon.destination'::regclass ORDER BY 1
            """)
        await connection.close()
        let table = "ON carillon.destination USING btree"
        #expect(
            rows.map { $0.text(0) ?? "" } == [
                "CREATE INDEX destination_by_app \(table) (app)",
                "CREATE INDEX destination_by_sweep \(table) (sweep) WHERE (sweep IS NOT NULL)",
                "CREATE UNIQUE INDEX destination_pkey \(table) (device, environment, app)",
            ])
    }

    @Test
    func `What was stored before there was the column is found`() async throws {
        let configuration = try await testConfiguration()
        let before = PostgresMigrations(schema: "carillon", oldest: 1, Array(PostgresSchema.migrations.prefix(6)))
        let connection = PostgresConnection(configuration.location, name: "test")
        #expect(try await before.apply(connection) == nil)
        _ = try await connection.execute(
            """
            INSERT INTO carillon.destination (
                device, environment, app, generation, token_key, token_since, changed, active, version, expires, priority,
                contents, id, topic, payload
            ) VALUES (1, 1, 1, 1, 1, 0, 0, true, 1, $1, 10, 0, $2, 'com.example.app', '{}')
            """,
            [.integer(moment.column), .bytes(NotificationID(high: 1, low: 2).column)])
        await connection.close()
        let store = try await PostgresStore.open(configuration)
        #expect(try await store.removeExpired(before: moment.advanced(by: .seconds(1)), limit: 10) == 1)
        #expect(try await store.entries(of: DeviceKey(environment: .production, device: DeviceID(rawValue: 1))).isEmpty)
        await store.close()
    }
}

import CommonTesting
import Foundation
import GRDB
import Notifications
import Testing

@testable import CampaignStore

#if PostgreSQL
    import PostgresClient
    @testable import PostgresCampaignStore
    import PostgresSupport
    import PostgresTesting
#endif

/// Databases that older versions made.
@Suite("Databases of older versions", .timeLimit(.minutes(2))) struct MigrationTests {
    /// What an installation had before the app's tags and the backend's were told apart.
    private static func check(_ store: any CampaignStore) async throws {
        let app = try #require(try await store.apps().first).number
        let stored = try #require(try await store.installation("i", app: app))
        var old = Sample.installation("i", token: "00fc")
        old.tags = ["news"]
        old.values = ["name": .string("Anna")]
        #expect(stored == StoredInstallation(old, secretDigest: nil))
        #expect(
            try await store.found(app) {
                $0.audience.expression = .and(.condition(.tag("news")), .not(.condition(.tag("sport"))))
            } == ["i"])
        old.appTags = ["sport"]
        old.tokens.services = ["voip": "01"]
        try await store.put(old, app: app)
        #expect(try await store.installation("i", app: app)?.installation == old)
    }

    @Test func `A SQLite database of the first versions is opened with what it has`() async throws {
        try await withTemporaryPath { folder in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let queue = try DatabaseQueue(path: folder + "/" + SQLiteCampaignStore.fileName)
            try SQLiteCampaignSchema.migrator.migrate(queue, upTo: "3")
            try await queue.write { database in
                try database.execute(
                    sql: """
                        INSERT INTO app VALUES (1, 'com.example.shop', 'ABCDE12345', CAST('{}' AS BLOB), x'01', x'02', 0, NULL);
                        INSERT INTO installation (app, id, environment, token, language, languages, time_zone, tags,
                            user_values, registered, changed)
                        VALUES (1, 'i', 0, x'00fc', '', '', '', ' news ', CAST('{"name":"Anna"}' AS BLOB),
                            1800000000000, 1800000000000);
                        """)
            }
            try queue.close()
            let store = try SQLiteCampaignStore(folder: folder, now: { Sample.now })
            try await withCleanUp {
                try await Self.check(store)
            } cleanUp: {
                await store.close()
            }
        }
    }

    #if PostgreSQL
        @Test(.startsPrograms) func `So is one in PostgreSQL`() async throws {
            let location = try await TestServer.makeDatabase()
            let old = PostgresMigrations(
                schema: PostgresCampaignSchema.schema, oldest: 1, Array(PostgresCampaignSchema.versions.prefix(2)))
            let connection = PostgresConnection(location, name: "test")
            #expect(try await old.apply(connection) == nil)
            _ = try await connection.execute(
                """
                INSERT INTO carillon_provider.app (bundle_id, team, endpoints, client_key, server_key,
                    accepts_claimed_users)
                VALUES ('com.example.shop', 'ABCDE12345', '{}', '1', '2', false)
                """)
            _ = try await connection.execute(
                """
                INSERT INTO carillon_provider.installation (app, id, environment, token, language, languages, time_zone,
                    tags, user_values, registered, changed)
                SELECT number, 'i', 0, '\\x00fc', '', '', '', ' news ', '{"name":"Anna"}', 1800000000000, 1800000000000
                FROM carillon_provider.app
                """)
            await connection.close()
            let store = try await StoreKind.open(location)
            try await withCleanUp {
                try await Self.check(store)
            } cleanUp: {
                await store.close()
            }
        }
    #endif
}

import CommonTesting
import Foundation
import GRDB
import Notifications
import Testing

@testable import CampaignStore

#if PostgreSQL
    import PostgresCampaignStore
    import PostgresClient
    import PostgresTesting
#endif

/// Databases/ has the tables of the first provider server as they were, with at least one row in each.
@Suite("A database of the first provider server is opened with what it has", .timeLimit(.minutes(2)))
struct FirstDatabaseTests {
    private static func sql(_ name: String) throws -> String {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Databases")
        return try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    }

    /// Reads each table.
    private static func check(_ store: any CampaignStore) async throws {
        var app = Sample.app()
        app.number = 1
        #expect(try await store.apps() == [app])
        let installation = Sample.installation("i", token: "00fc") {
            $0.languages = ["de-AT", "en"]
            $0.timeZone = "Europe/Vienna"
            $0.user = "anna"
            $0.tags = ["news"]
            $0.appVersion = "2.1"
            $0.values = ["name": .string("Anna")]
        }
        #expect(try await store.installation("i", app: 1) == StoredInstallation(installation, secretDigest: [5]))
        let ended = Sample.installation("j", token: "01fc") {
            $0.end = Installation.End(at: Sample.now, reason: "Unregistered")
        }
        #expect(try await store.installation("j", app: 1) == StoredInstallation(ended, secretDigest: nil))
        var message = Sample.message("m", app: 1, rate: 10)
        message.number = 1
        (message.position.last, message.position.environment, message.position.after) = (2, .development, 2)
        (message.tally.accepted, message.tally.failed) = (1, ["Unregistered": 1])
        #expect(try await store.message(app: 1, idempotency: IdempotencyKey(name: "order-7", digest: [7])) == message)
        let refused = SendOutcome(installation: 2, status: 410, reason: "Unregistered", at: Sample.now)
        let outcomes = [KeptOutcome(Sample.accepted(1), installation: "i"), KeptOutcome(refused, installation: "j")]
        #expect(try await store.outcomes(of: 1, .all, after: 0, limit: 10) == outcomes)
        let hook = Hook(number: 1, id: "h", app: 1, url: "https://hooks.example.com/", sealedSecret: [9])
        #expect(try await store.hooks(app: 1) == [hook])
        let delivery = try #require(try await store.deliveries(hook: "h", app: 1, before: nil, limit: 10).first)
        #expect(delivery.id == "d" && delivery.hook == hook && delivery.cause == "refused")
        #expect(delivery.created == Sample.now && delivery.attempts == 1 && delivery.next == Sample.now)
        #expect(try await store.openEvents() == ["{}"])
        // Numbers are not used again.
        try await store.put(Sample.installation("k"), app: 1)
        #expect(try await store.numbers(app: 1)["k"] == 3)
    }

    @Test func `in SQLite`() async throws {
        try await withTemporaryPath { folder in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let queue = try DatabaseQueue(path: folder + "/" + SQLiteCampaignStore.fileName)
            let sql = try Self.sql("first-sqlite.sql")
            try await queue.write { try $0.execute(sql: sql) }
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
        @Test(.startsPrograms) func `in PostgreSQL`() async throws {
            let location = try await TestServer.makeDatabase()
            try await TestServer.execute(try Self.sql("first-postgresql.sql"), in: location)
            let store = try await StoreKind.open(location)
            try await withCleanUp {
                try await Self.check(store)
                let audience = SavedAudience(name: "a", app: 1, document: Array("{}".utf8), changed: Sample.now)
                #expect(try await store.audiences(app: 1) == [audience])
                // The secret that is there stays.
                #expect(try await store.keep([9], as: "seal") == [1, 2, 3])
            } cleanUp: {
                await store.close()
            }
        }
    #endif
}

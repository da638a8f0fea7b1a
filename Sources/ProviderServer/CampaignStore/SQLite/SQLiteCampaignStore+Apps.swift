import Foundation
import GRDB
import Notifications
import SQLiteSupport
package import Storage

extension SQLiteCampaignStore {
    package func apps() async throws(StoreError) -> [ProviderApp] {
        try await read { database in
            try Row.fetchAll(database, sql: Self.columns + " ORDER BY bundle_id").map(Self.app)
        }
    }

    private static let columns =
        "SELECT number, bundle_id, team, endpoints, client_key, server_key, accepts_claimed_users, identity FROM app"

    private static func app(_ row: Row) throws -> ProviderApp {
        let decoder = JSONDecoder()
        let endpoints = try decoder.decode([String: ProviderApp.Endpoint].self, from: row.blob(3))
        return ProviderApp(
            number: row.integer(0), bundleID: row.text(1), teamID: row.text(2),
            endpoints: Dictionary(
                endpoints.compactMap { name, endpoint in Environment(rawValue: name).map { ($0, endpoint) } },
                uniquingKeysWith: { $1 }),
            clientKeyDigest: Array(row.blob(4)), serverKeyDigest: Array(row.blob(5)),
            acceptsClaimedUsers: row.integer(6) != 0,
            identity: try row.optionalBlob(7).map { try decoder.decode(ProviderApp.IdentityProvider.self, from: $0) })
    }

    package func changeApp(
        _ bundleID: String,
        _ change: @escaping @Sendable (ProviderApp?) throws -> ProviderApp,
    ) async throws -> ProviderApp {
        try await commit { database in
            let known = try Row.fetchOne(database, sql: Self.columns + " WHERE bundle_id = ?", arguments: [bundleID])
                .map(Self.app)
            var app = try change(known)
            let encoder = JSONEncoder()
            let endpoints = Dictionary(
                app.endpoints.map { ($0.key.rawValue, $0.value) }, uniquingKeysWith: { $1 })
            let number = try Int64.fetchOne(
                database,
                sql: """
                    INSERT INTO app (
                        bundle_id, team, endpoints, client_key, server_key, accepts_claimed_users, identity
                    ) VALUES (?, ?, ?, ?, ?, ?, ?)
                    ON CONFLICT (bundle_id) DO UPDATE SET
                        team = excluded.team, endpoints = excluded.endpoints, client_key = excluded.client_key,
                        server_key = excluded.server_key, identity = excluded.identity,
                        accepts_claimed_users = excluded.accepts_claimed_users
                    RETURNING number
                    """,
                arguments: [
                    bundleID, app.teamID, try encoder.encode(endpoints), Data(app.clientKeyDigest),
                    Data(app.serverKeyDigest), app.acceptsClaimedUsers, try app.identity.map(encoder.encode),
                ])
            app.number = number ?? 0
            return app
        }
    }

    /// The largest number of rows that one transaction deletes. Requests that register installations wait for it.
    private static let deletedTogether = 20_000

    package func deleteApp(_ number: Int64) async throws(StoreError) {
        let messages = try await write { database in
            try database.execute(
                sql: "UPDATE message SET state = 'cancelled' WHERE app = ? AND state <> 'finished'",
                arguments: [number])
            return try Int64.fetchAll(database, sql: "SELECT number FROM message WHERE app = ?", arguments: [number])
        }
        for message in messages { try await deleteOutcomes(of: message) }
        try await deleteInSteps(
            "DELETE FROM installation WHERE number IN (SELECT number FROM installation WHERE app = ? LIMIT ?)", number)
        try await write { database in
            try database.execute(sql: "DELETE FROM app WHERE number = ?", arguments: [number])
        }
    }

    func deleteOutcomes(of message: Int64) async throws(StoreError) {
        try await deleteInSteps(
            """
            DELETE FROM outcome WHERE message = ?1
                AND installation IN (SELECT installation FROM outcome WHERE message = ?1 LIMIT ?2)
            """, message)
    }

    /// Deletes rows until there are no more.
    /// - Parameter sql: deletes some of the rows; its parameters are `number` and how many to delete at most.
    private func deleteInSteps(_ sql: String, _ number: Int64) async throws(StoreError) {
        while try await write({ database in
            try database.execute(sql: sql, arguments: [number, Self.deletedTogether])
            return database.changesCount
        }) > 0 {}
    }
}

package import Delivery
import Foundation
import GRDB
import Notifications
import SQLiteSupport

extension SQLiteProviderStore {
    package func apps() async throws(StoreError) -> [ProviderApp] {
        try await read { database in
            let rows = try Row.fetchAll(
                database,
                sql: """
                    SELECT number, bundle_id, team, endpoints, client_key, server_key, accepts_claimed_users, identity
                    FROM app ORDER BY bundle_id
                    """)
            return try rows.map(Self.app)
        }
    }

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

    package func put(_ app: ProviderApp) async throws(StoreError) -> ProviderApp {
        try await write { database in
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
                    app.bundleID, app.teamID, try encoder.encode(endpoints), Data(app.clientKeyDigest),
                    Data(app.serverKeyDigest), app.acceptsClaimedUsers, try app.identity.map(encoder.encode),
                ])
            var stored = app
            stored.number = number ?? 0
            return stored
        }
    }

    package func deleteApp(_ number: Int64) async throws(StoreError) {
        try await write { database in
            try database.execute(sql: "DELETE FROM app WHERE number = ?", arguments: [number])
        }
    }
}

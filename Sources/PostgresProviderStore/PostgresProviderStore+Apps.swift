package import Delivery
import Foundation
import Notifications
import PostgresClient
import PostgresSupport
package import ProviderStore

extension PostgresProviderStore {
    package func apps() async throws(StoreError) -> [ProviderApp] {
        try await read(
            """
            SELECT number, bundle_id, team, endpoints, client_key, server_key, accepts_claimed_users, identity
            FROM carillon_provider.app ORDER BY bundle_id
            """
        ).map { row throws(StoreError) in try Self.app(row) }
    }

    private static func app(_ row: PostgresRow) throws(StoreError) -> ProviderApp {
        do {
            let decoder = JSONDecoder()
            let endpoints = try decoder.decode([String: ProviderApp.Endpoint].self, from: Data(row.bytes(3) ?? []))
            return ProviderApp(
                number: row.number(0), bundleID: row.line(1), teamID: row.line(2),
                endpoints: Dictionary(
                    endpoints.compactMap { name, endpoint in Environment(rawValue: name).map { ($0, endpoint) } },
                    uniquingKeysWith: { $1 }),
                clientKeyDigest: row.bytes(4) ?? [], serverKeyDigest: row.bytes(5) ?? [],
                acceptsClaimedUsers: row.bool(6) ?? false,
                identity: try row.bytes(7).map {
                    try decoder.decode(ProviderApp.IdentityProvider.self, from: Data($0))
                })
        } catch {
            throw PostgresError.damaged("an app").storeError
        }
    }

    package func put(_ app: ProviderApp) async throws(StoreError) -> ProviderApp {
        let endpoints = Dictionary(app.endpoints.map { ($0.key.rawValue, $0.value) }, uniquingKeysWith: { $1 })
        let answers = try await write([
            PostgresStatement(
                """
                INSERT INTO carillon_provider.app (
                    bundle_id, team, endpoints, client_key, server_key, accepts_claimed_users, identity
                ) VALUES ($1, $2, $3, $4, $5, $6, $7)
                ON CONFLICT (bundle_id) DO UPDATE SET
                    team = excluded.team, endpoints = excluded.endpoints, client_key = excluded.client_key,
                    server_key = excluded.server_key, identity = excluded.identity,
                    accepts_claimed_users = excluded.accepts_claimed_users
                RETURNING number
                """,
                [
                    .line(app.bundleID), .line(app.teamID), .bytes(try Self.json(endpoints)),
                    .bytes(app.clientKeyDigest), .bytes(app.serverKeyDigest), .bool(app.acceptsClaimedUsers),
                    .bytes(try app.identity.map { identity throws(StoreError) in try Self.json(identity) }),
                ])
        ])
        var stored = app
        stored.number = answers.first?.first?.integer(0) ?? 0
        return stored
    }

    static func json(_ value: some Encodable) throws(StoreError) -> [UInt8] {
        do {
            return Array(try JSONEncoder().encode(value))
        } catch {
            throw StoreError(.unavailable, "A value cannot be encoded: \(error)")
        }
    }

    /// The largest number of rows that one statement deletes. It takes much less time than a statement may.
    private static let deletedTogether: Int64 = 20_000

    /// Deletes the rows of an app in several steps, because a statement has a time limit. If the server is killed in between,
    /// the app is still there, and can be deleted again.
    package func deleteApp(_ number: Int64) async throws(StoreError) {
        let values: [PostgresValue] = [.integer(number), .integer(Self.deletedTogether)]
        let outcomes = PostgresStatement(
            """
            DELETE FROM carillon_provider.outcome WHERE (message, installation) IN (
                SELECT o.message, o.installation FROM carillon_provider.message m
                JOIN carillon_provider.outcome o ON o.message = m.number WHERE m.app = $1 LIMIT $2)
            """, values)
        let installations = PostgresStatement(
            """
            DELETE FROM carillon_provider.installation WHERE number IN (
                SELECT number FROM carillon_provider.installation WHERE app = $1 LIMIT $2)
            """, values)
        for statement in [outcomes, installations] {
            while try await write([statement]).first?.affected ?? 0 > 0 {}
        }
        try await write([PostgresStatement("DELETE FROM carillon_provider.app WHERE number = $1", [.integer(number)])])
    }
}

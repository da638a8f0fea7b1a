package import CampaignStore
import Foundation
package import Notifications
import PostgresClient
import PostgresSupport
package import Storage

extension PostgresCampaignStore {
    package func apps() async throws(StoreError) -> [ProviderApp] {
        let rows = try await read(PostgresStatement(assembled: Self.columns + " ORDER BY bundle_id", []))
        do throws(PostgresError) {
            return try rows.map { row throws(PostgresError) in try Self.app(row) }
        } catch {
            throw error.storeError
        }
    }

    private static let columns = """
        SELECT number, bundle_id, team, endpoints, client_key, server_key, accepts_claimed_users, identity
        FROM carillon_provider.app
        """

    private static func app(_ row: PostgresRow) throws(PostgresError) -> ProviderApp {
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
            throw .damaged("an app")
        }
    }

    package func changeApp(
        _ bundleID: String,
        _ change: @escaping @Sendable (ProviderApp?) throws -> ProviderApp,
    ) async throws -> ProviderApp {
        let result = try await transact { transaction throws(PostgresError) -> Result<ProviderApp, any Error> in
            // The row is locked. If there is none, one of two servers that add the app at the same time fails, and repeats
            // the transaction with the row of the other.
            let known = try transaction.execute(
                PostgresStatement(
                    assembled: Self.columns + " WHERE bundle_id = $1 FOR NO KEY UPDATE", [.line(bundleID)])
            ).first.map { row throws(PostgresError) in try Self.app(row) }
            var app: ProviderApp
            do {
                app = try change(known)
            } catch {
                return .failure(error)
            }
            let endpoints = Dictionary(app.endpoints.map { ($0.key.rawValue, $0.value) }, uniquingKeysWith: { $1 })
            let values: [PostgresValue] = [
                .line(bundleID), .line(app.teamID), .bytes(try Self.json(endpoints)), .bytes(app.clientKeyDigest),
                .bytes(app.serverKeyDigest), .bool(app.acceptsClaimedUsers),
                .bytes(try app.identity.map { identity throws(PostgresError) in try Self.json(identity) }),
            ]
            let rows =
                known == nil
                ? try transaction.execute(
                    """
                    INSERT INTO carillon_provider.app (
                        bundle_id, team, endpoints, client_key, server_key, accepts_claimed_users, identity
                    ) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING number
                    """, values)
                : try transaction.execute(
                    """
                    UPDATE carillon_provider.app SET team = $2, endpoints = $3, client_key = $4, server_key = $5,
                        accepts_claimed_users = $6, identity = $7
                    WHERE bundle_id = $1 RETURNING number
                    """, values)
            app.number = rows.first?.number(0) ?? 0
            return .success(app)
        }
        return try result.get()
    }

    private static func json(_ value: some Encodable) throws(PostgresError) -> [UInt8] {
        do {
            return Array(try JSONEncoder().encode(value))
        } catch {
            throw PostgresError(.other, "A value of an app cannot be encoded.")
        }
    }

    /// The largest number of rows that one statement deletes. It takes much less time than a statement may.
    private static let deletedTogether: Int64 = 20_000

    /// Deletes the rows of an app in several steps, because a statement has a time limit. If the server is killed in between,
    /// the app is still there, and can be deleted again.
    package func deleteApp(_ number: Int64) async throws(StoreError) {
        // No server can hold these messages any more, so all of them stop sending within about a second.
        try await write([
            PostgresStatement(
                """
                UPDATE carillon_provider.message SET state = 'cancelled', holder = NULL, held_until = NULL
                WHERE app = $1 AND state <> 'finished'
                """, [.integer(number)])
        ])
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
        for statement in [outcomes, installations] { try await repeatUntilDone(statement) }
        try await write([PostgresStatement("DELETE FROM carillon_provider.app WHERE number = $1", [.integer(number)])])
    }

    private func repeatUntilDone(_ statement: PostgresStatement) async throws(StoreError) {
        while try await write([statement]).first?.affected ?? 0 > 0 {}
    }

    package func deleteMessage(_ number: Int64) async throws(StoreError) {
        // A server that still stores the last outcomes of a message holds it.
        let isOver = try await read(
            """
            SELECT state IN ('finished', 'cancelled') AND (holder IS NULL OR held_until <= clock_timestamp())
            FROM carillon_provider.message WHERE number = $1
            """, [.integer(number)]
        ).first?.bool(0)
        guard isOver ?? true else { throw StoreError.notOver }
        try await repeatUntilDone(
            PostgresStatement(
                """
                DELETE FROM carillon_provider.outcome WHERE message = $1 AND installation IN (
                    SELECT installation FROM carillon_provider.outcome WHERE message = $1 LIMIT $2)
                """, [.integer(number), .integer(Self.deletedTogether)]))
        try await write([
            PostgresStatement("DELETE FROM carillon_provider.message WHERE number = $1", [.integer(number)])
        ])
    }

    package func endedMessages(before: Timestamp, limit: Int) async throws(StoreError) -> [Int64] {
        try await read(
            """
            SELECT number FROM carillon_provider.message
            WHERE state IN ('finished', 'cancelled') AND coalesce(finished, starts) < $1 ORDER BY number LIMIT $2
            """, [.moment(before), .integer(Int64(max(0, limit)))]
        ).map { $0.number(0) }
    }
}

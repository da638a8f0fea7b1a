package import CampaignStore
package import Notifications
import PostgresClient
import PostgresSupport
package import Storage

extension PostgresCampaignStore {
    private static func audience(_ row: PostgresRow) -> SavedAudience {
        SavedAudience(
            name: row.line(0), app: row.number(1), document: row.bytes(2) ?? [],
            changed: Timestamp(column: row.number(3)))
    }

    package func audiences(app: Int64) async throws(StoreError) -> [SavedAudience] {
        try await read(
            "SELECT name, app, document, changed FROM carillon_provider.audience WHERE app = $1 ORDER BY name COLLATE \"C\"",
            [.integer(app)]
        ).map { Self.audience($0) }
    }

    package func audience(_ name: String, app: Int64) async throws(StoreError) -> SavedAudience? {
        try await read(
            "SELECT name, app, document, changed FROM carillon_provider.audience WHERE app = $1 AND name = $2",
            [.integer(app), .line(name)]
        ).first.map { Self.audience($0) }
    }

    package func put(_ audience: SavedAudience, limit: Int) async throws(StoreError) -> Bool {
        let isNew = try await transact { transaction throws(PostgresError) -> Bool? in
            let values: [PostgresValue] = [
                .integer(audience.app), .line(audience.name), .bytes(audience.document), .moment(audience.changed),
            ]
            // The app's row is the lock: two requests at the same time must not exceed the limit.
            try transaction.execute(
                "SELECT 1 FROM carillon_provider.app WHERE number = $1 FOR UPDATE", [.integer(audience.app)])
            let changed = try transaction.execute(
                "UPDATE carillon_provider.audience SET document = $3, changed = $4 WHERE app = $1 AND name = $2", values
            ).affected
            guard changed == 0 else { return false }
            let count = try transaction.execute(
                "SELECT count(*) FROM carillon_provider.audience WHERE app = $1", [.integer(audience.app)]
            ).first?.integer(0)
            guard (count ?? 0) < Int64(limit) else { return nil }
            try transaction.execute(
                "INSERT INTO carillon_provider.audience (app, name, document, changed) VALUES ($1, $2, $3, $4)", values)
            return true
        }
        guard let isNew else {
            throw StoreError(.conflict, "The app has \(limit) saved audiences already: delete one first.")
        }
        return isNew
    }

    package func deleteAudience(_ name: String, app: Int64) async throws(StoreError) -> Bool {
        let answers = try await write([
            PostgresStatement(
                "DELETE FROM carillon_provider.audience WHERE app = $1 AND name = $2", [.integer(app), .line(name)])
        ])
        return answers.first?.affected ?? 0 > 0
    }

    package func endInstallations(
        app: Int64,
        environment: Environment,
        tokens: [(token: String, endedAt: Timestamp)],
        event: @escaping @Sendable ([EndedInstallation]) -> ProviderEvent,
    ) async throws(StoreError) -> Int {
        guard !tokens.isEmpty else { return 0 }
        let (now, limit) = (configuration.now, configuration.waitingDeliveries)
        return try await transact { transaction throws(PostgresError) in
            let ended = try transaction.execute(
                """
                UPDATE carillon_provider.installation AS i SET ended = n.at, end_reason = $3, changed = $4
                FROM (
                    SELECT token, max(at) AS at FROM unnest($5::bytea[], $6::bigint[]) AS n (token, at) GROUP BY token
                ) AS n
                WHERE i.app = $1 AND i.environment = $2 AND i.token = n.token AND i.ended IS NULL
                    AND i.registered <= n.at
                RETURNING i.id, n.at
                """,
                [
                    .integer(app), .integer(environment.column), .text(Installation.End.feedback), .moment(now()),
                    .byteArrays(tokens.map { Hexadecimal.bytes($0.token) ?? [] }),
                    .integers(tokens.map { $0.endedAt.column }),
                ]
            ).map { row in
                EndedInstallation(
                    id: row.line(0), reason: Installation.End.feedback, at: Timestamp(column: row.number(1)))
            }
            if !ended.isEmpty { try Self.add(event(ended), app: app, at: now(), limit: limit, transaction) }
            return ended.count
        }
    }
}

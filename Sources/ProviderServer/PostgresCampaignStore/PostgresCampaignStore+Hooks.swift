package import CampaignStore
import Notifications
import PostgresClient
import PostgresSupport
package import Storage

extension PostgresCampaignStore {
    package func hooks(app: Int64) async throws(StoreError) -> [Hook] {
        try await read(
            "SELECT number, id, app, url, secret FROM carillon_provider.hook WHERE app = $1 ORDER BY number",
            [.integer(app)]
        ).map { Self.hook($0, from: 0) }
    }

    private static func hook(_ row: PostgresRow, from column: Int) -> Hook {
        Hook(
            number: row.number(column), id: row.line(column + 1), app: row.number(column + 2),
            url: row.line(column + 3), sealedSecret: row.bytes(column + 4) ?? [])
    }

    package func add(_ hook: Hook, limit: Int) async throws(StoreError) {
        let isAdded = try await transact { transaction throws(PostgresError) in
            // The app's row is the lock: two requests at the same time must not exceed the limit.
            try transaction.execute(
                "SELECT 1 FROM carillon_provider.app WHERE number = $1 FOR UPDATE", [.integer(hook.app)])
            let count = try transaction.execute(
                "SELECT count(*) FROM carillon_provider.hook WHERE app = $1", [.integer(hook.app)]
            ).first?.integer(0)
            guard (count ?? 0) < Int64(limit) else { return false }
            try transaction.execute(
                "INSERT INTO carillon_provider.hook (id, app, url, secret) VALUES ($1, $2, $3, $4)",
                [.text(hook.id), .integer(hook.app), .line(hook.url), .bytes(hook.sealedSecret)])
            return true
        }
        guard isAdded else { throw StoreError(.conflict, "The app has \(limit) hooks already: delete one first.") }
    }

    package func deleteHook(_ id: String, app: Int64) async throws(StoreError) -> Bool {
        let answers = try await write([
            PostgresStatement(
                "DELETE FROM carillon_provider.hook WHERE id = $1 AND app = $2", [.line(id), .integer(app)])
        ])
        return answers.first?.affected ?? 0 > 0
    }

    /// Adds an event for each hook of an app, in the transaction of the change that the event reports.
    /// - Parameter limit: how many deliveries of a hook may wait. The oldest of more are given up.
    static func add(
        _ event: ProviderEvent,
        app: Int64,
        at now: Timestamp,
        limit: Int64,
        _ transaction: PostgresTransaction,
    ) throws(PostgresError) {
        try transaction.execute(
            """
            INSERT INTO carillon_provider.hook_delivery (id, hook, kind, body, created, next)
            SELECT gen_random_uuid()::text, number, $2, $3, $4, $4 FROM carillon_provider.hook WHERE app = $1
            """,
            [.integer(app), .text(event.kind), .bytes(event.body), .moment(now)])
        try transaction.execute(
            """
            UPDATE carillon_provider.hook_delivery d
            SET next = NULL, cause = $3, body = '', holder = NULL, held_until = NULL
            FROM carillon_provider.hook h
            WHERE h.app = $1 AND d.hook = h.number AND d.next IS NOT NULL AND d.number <= (
                SELECT o.number FROM carillon_provider.hook_delivery o WHERE o.hook = h.number AND o.next IS NOT NULL
                ORDER BY o.number DESC LIMIT 1 OFFSET $2)
            """,
            [.integer(app), .integer(limit), .text(HookDelivery.tooMany)])
    }

    private static let deliveries = """
        SELECT d.number, d.id, d.kind, d.created, d.attempts, d.next, d.status, d.cause,
            h.number, h.id, h.app, h.url, h.secret
        FROM carillon_provider.hook h JOIN
        """

    private func deliveries(_ rest: String, _ values: [PostgresValue]) async throws(StoreError) -> [HookDelivery] {
        try await read(PostgresStatement(assembled: Self.deliveries + rest, values)).map { row in
            HookDelivery(
                number: row.number(0), id: row.line(1), hook: Self.hook(row, from: 8),
                event: ProviderEvent(kind: row.line(2), body: []),
                created: Timestamp(column: row.number(3)), attempts: row.number(4), next: row.moment(5),
                status: row.integer(6), cause: row.text(7))
        }
    }

    /// Returns the deliveries that have not ended, and that no other server is sending.
    package func openDeliveries(limit: Int) async throws(StoreError) -> [HookDelivery] {
        try await deliveries(
            """
             LATERAL (
                SELECT * FROM carillon_provider.hook_delivery d
                WHERE d.hook = h.number AND d.next IS NOT NULL
                    AND (d.holder IS NULL OR d.holder = $1 OR d.held_until <= clock_timestamp())
                ORDER BY d.next LIMIT $2
            ) d ON true
            ORDER BY d.next
            """, [.bytes(configuration.identity), .integer(Int64(max(0, limit)))])
    }

    package func hold(_ delivery: HookDelivery, for time: Duration) async throws(StoreError) -> [UInt8]? {
        let answers = try await write([
            PostgresStatement(
                """
                UPDATE carillon_provider.hook_delivery
                SET holder = $2, held_until = clock_timestamp() + $3 * interval '1 millisecond'
                WHERE number = $1 AND next IS NOT NULL AND attempts = $4
                    AND (holder IS NULL OR holder = $2 OR held_until <= clock_timestamp())
                RETURNING body
                """,
                [
                    .integer(delivery.number), .bytes(configuration.identity), .integer(time.milliseconds),
                    .integer(delivery.attempts),
                ])
        ])
        return answers.first?.first.map { $0.bytes(0) ?? [] }
    }

    package func record(_ delivery: HookDelivery) async throws(StoreError) {
        // If a delivery has been given up, it does not wait again. The body of a delivery that has ended is not needed.
        try await write([
            PostgresStatement(
                """
                UPDATE carillon_provider.hook_delivery
                SET attempts = $2, next = CASE WHEN next IS NULL THEN NULL ELSE $3::bigint END, status = $4, cause = $5,
                    body = CASE WHEN next IS NULL OR $3::bigint IS NULL THEN '' ELSE body END, holder = NULL,
                    held_until = NULL
                WHERE number = $1 AND attempts < $2
                """,
                [
                    .integer(delivery.number), .integer(delivery.attempts), .moment(delivery.next),
                    .integer(delivery.status), .line(delivery.cause),
                ]),
            PostgresStatement(
                """
                DELETE FROM carillon_provider.hook_delivery WHERE hook = $1 AND next IS NULL AND number <= (
                    SELECT number FROM carillon_provider.hook_delivery WHERE hook = $1 AND next IS NULL
                    ORDER BY number DESC LIMIT 1 OFFSET $2)
                """, [.integer(delivery.hook.number), .integer(HookDelivery.keptDeliveries)]),
        ])
    }

    package func deliveries(
        hook: String,
        app: Int64,
        before: Int64?,
        limit: Int,
    ) async throws(StoreError) -> [HookDelivery] {
        try await deliveries(
            " carillon_provider.hook_delivery d ON d.hook = h.number WHERE h.id = $1 AND h.app = $2 AND d.number < $3 ORDER BY d.number DESC LIMIT $4",
            [.line(hook), .integer(app), .integer(before ?? .max), .integer(Int64(max(0, limit)))])
    }
}

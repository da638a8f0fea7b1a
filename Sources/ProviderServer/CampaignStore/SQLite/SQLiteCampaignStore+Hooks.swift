import Foundation
import GRDB
import Notifications
import SQLiteSupport
package import Storage

extension SQLiteCampaignStore {
    package func hooks(app: Int64) async throws(StoreError) -> [Hook] {
        try await read { database in
            try Row.fetchAll(
                database, sql: "SELECT number, id, app, url, secret FROM hook WHERE app = ? ORDER BY number",
                arguments: [app]
            ).map { Self.hook($0, from: 0) }
        }
    }

    private static func hook(_ row: Row, from column: Int) -> Hook {
        Hook(
            number: row.integer(column), id: row.text(column + 1), app: row.integer(column + 2),
            url: row.text(column + 3), sealedSecret: Array(row.blob(column + 4)))
    }

    package func add(_ hook: Hook, limit: Int) async throws(StoreError) {
        try await write { database in
            let count = try Int.fetchOne(
                database, sql: "SELECT count(*) FROM hook WHERE app = ?", arguments: [hook.app])
            guard (count ?? 0) < limit else {
                throw StoreError(.conflict, "The app has \(limit) hooks already: delete one first.")
            }
            try database.execute(
                sql: "INSERT INTO hook (id, app, url, secret) VALUES (?, ?, ?, ?)",
                arguments: [hook.id, hook.app, hook.url, Data(hook.sealedSecret)])
        }
    }

    package func deleteHook(_ id: String, app: Int64) async throws(StoreError) -> Bool {
        try await write { database in
            try database.execute(sql: "DELETE FROM hook WHERE id = ? AND app = ?", arguments: [id, app])
            return database.changesCount > 0
        }
    }

    /// Adds an event for each hook of an app, in the transaction of the change that the event reports.
    /// - Parameter limit: how many deliveries of a hook may wait. The oldest of more are given up.
    static func add(
        _ event: ProviderEvent,
        app: Int64,
        at now: Timestamp,
        limit: Int64,
        _ database: Database,
    ) throws {
        let hooks = try Int64.fetchAll(database, sql: "SELECT number FROM hook WHERE app = ?", arguments: [app])
        for hook in hooks {
            try database.execute(
                sql: """
                    INSERT INTO hook_delivery (id, hook, kind, body, created, attempts, next)
                    VALUES (?, ?, ?, ?, ?, 0, ?)
                    """,
                arguments: [
                    UUID().uuidString.lowercased(), hook, event.kind, Data(event.body), now.column, now.column,
                ])
            try database.execute(
                sql: """
                    UPDATE hook_delivery SET next = NULL, cause = ?3, body = x''
                    WHERE hook = ?1 AND next IS NOT NULL AND number <= (
                        SELECT number FROM hook_delivery WHERE hook = ?1 AND next IS NOT NULL
                        ORDER BY number DESC LIMIT 1 OFFSET ?2)
                    """,
                arguments: [hook, limit, HookDelivery.tooMany])
            try database.execute(
                sql: """
                    DELETE FROM hook_delivery WHERE hook = ?1 AND next IS NULL AND number <= (
                        SELECT number FROM hook_delivery WHERE hook = ?1 AND next IS NULL
                        ORDER BY number DESC LIMIT 1 OFFSET ?2)
                    """,
                arguments: [hook, HookDelivery.keptDeliveries])
        }
    }

    private static let deliveries = """
        SELECT d.number, d.id, d.kind, d.created, d.attempts, d.next, d.status, d.cause,
            h.number, h.id, h.app, h.url, h.secret
        FROM hook h JOIN hook_delivery d
        """

    private static func delivery(_ row: Row) -> HookDelivery {
        HookDelivery(
            number: row.integer(0), id: row.text(1), hook: hook(row, from: 8),
            event: ProviderEvent(kind: row.text(2), body: []),
            created: Timestamp(column: row.integer(3)), attempts: row.integer(4),
            next: row.optionalInteger(5).map(Timestamp.init(column:)), status: row.optionalInteger(6),
            cause: row.optionalText(7))
    }

    package func openDeliveries(limit: Int) async throws(StoreError) -> [HookDelivery] {
        try await read { database in
            try Row.fetchAll(
                database,
                sql: Self.deliveries + """
                     ON d.number IN (
                        SELECT number FROM hook_delivery WHERE hook = h.number AND next IS NOT NULL ORDER BY next LIMIT ?)
                    ORDER BY d.next
                    """, arguments: [limit]
            ).map(Self.delivery)
        }
    }

    /// Nobody else uses the store, so this only reads the body.
    package func hold(_ delivery: HookDelivery, for time: Duration) async throws(StoreError) -> [UInt8]? {
        try await read { database in
            try Data.fetchOne(
                database, sql: "SELECT body FROM hook_delivery WHERE number = ? AND next IS NOT NULL",
                arguments: [delivery.number]
            ).map { Array($0) }
        }
    }

    package func record(_ delivery: HookDelivery) async throws(StoreError) {
        try await write { database in
            // If a delivery has been given up, it does not wait again. The body of a delivery that has ended is not needed.
            try database.execute(
                sql: """
                    UPDATE hook_delivery SET attempts = ?1, next = iif(next IS NULL, NULL, ?2), status = ?3, cause = ?4,
                        body = iif(next IS NULL OR ?2 IS NULL, x'', body)
                    WHERE number = ?5
                    """,
                arguments: [
                    delivery.attempts, delivery.next?.column, delivery.status, delivery.cause, delivery.number,
                ])
        }
    }

    package func deliveries(
        hook: String,
        app: Int64,
        before: Int64?,
        limit: Int,
    ) async throws(StoreError) -> [HookDelivery] {
        try await read { database in
            let rest =
                " ON d.hook = h.number WHERE h.id = ? AND h.app = ? AND d.number < ? ORDER BY d.number DESC LIMIT ?"
            return try Row.fetchAll(
                database, sql: Self.deliveries + rest, arguments: [hook, app, before ?? .max, limit]
            ).map(Self.delivery)
        }
    }
}

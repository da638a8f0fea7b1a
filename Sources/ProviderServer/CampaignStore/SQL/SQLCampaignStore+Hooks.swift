import Foundation
import Notifications
import SQLSupport
package import Storage

extension SQLCampaignStore {
    package func hooks(app: Int64) async throws(StoreError) -> [Hook] {
        try await database.read(
            "SELECT \(Hook.table.columns(of: "hook")) FROM hook WHERE app = \(app) ORDER BY number"
        ) { try Hook.table.row($0) }
    }

    package func add(_ hook: Hook, limit: Int) async throws(StoreError) {
        try await database.write { transaction in
            try lock(app: hook.app, transaction)
            let count = try transaction.number("SELECT count(*) FROM hook WHERE app = \(hook.app)")
            guard count ?? 0 < Int64(limit) else {  // fits: a limit of ours
                throw StoreError(.conflict, "The app has \(limit) hooks already: delete one first.")
            }
            try transaction.run("INSERT INTO hook (\(Hook.table.list)) VALUES (\(Hook.table.values(hook)))")
        }
    }

    package func deleteHook(_ id: String, app: Int64) async throws(StoreError) -> Bool {
        try await database.write("DELETE FROM hook WHERE id = \(id) AND app = \(app)") > 0
    }

    /// Adds an event for each hook of an app, in the transaction of the change that the event reports. Gives up the oldest
    /// deliveries of a hook if too many wait.
    func add(_ event: ProviderEvent, app: Int64, _ transaction: any SQLTransaction) throws {
        // A hook that is locked cannot be deleted before the transaction ends.
        let lock = SQLStatement.either(sqlite: "", postgresql: "FOR KEY SHARE")
        let hooks = try transaction.rows("SELECT number FROM hook WHERE app = \(app) \(lock)") { $0.integer(0) ?? 0 }
        let now = now()
        for hook in hooks {
            try transaction.run(
                """
                INSERT INTO hook_delivery (id, hook, kind, body, created, attempts, next) VALUES (
                    \(UUID().uuidString.lowercased()), \(hook), \(event.kind), \(event.body), \(now.column), 0,
                    \(now.column))
                """)
            try transaction.run(
                """
                UPDATE hook_delivery SET next = NULL, cause = \(HookDelivery.tooMany), body = \(.noBytes)\(released)
                WHERE hook = \(hook) AND next IS NOT NULL AND number <= (
                    SELECT number FROM hook_delivery WHERE hook = \(hook) AND next IS NOT NULL
                    ORDER BY number DESC LIMIT 1 OFFSET \(waitingDeliveries))
                """)
        }
    }

    /// Selects deliveries.
    /// - Parameter rest: what `hook h` is joined with.
    private func deliveries(_ rest: SQLStatement) async throws(StoreError) -> [HookDelivery] {
        let (delivery, hook) = (HookDelivery.table, Hook.table)
        return try await database.read(
            "SELECT \(delivery.columns(of: "d")), \(hook.columns(of: "h")) FROM hook h JOIN \(rest)"
        ) { row in
            var found = try delivery.row(row)
            found.hook = try hook.row(row, from: delivery.count)
            return found
        }
    }

    package func openDeliveries(limit: Int) async throws(StoreError) -> [HookDelivery] {
        let each = SQLStatement.either(
            sqlite: "hook_delivery d ON d.number IN (SELECT number", postgresql: "LATERAL (SELECT *")
        return try await deliveries(
            """
            \(each) FROM hook_delivery WHERE hook = h.number AND next IS NOT NULL\(isFree) ORDER BY next LIMIT \(limit))
            \(.either(sqlite: "", postgresql: "d ON true")) ORDER BY d.next
            """)
    }

    package func hold(_ delivery: HookDelivery, for time: Duration) async throws(StoreError) -> [UInt8]? {
        guard let identity else {
            return try await database.read(
                "SELECT body FROM hook_delivery WHERE number = \(delivery.number) AND next IS NOT NULL"
            ) { $0.bytes(0) ?? [] }.first
        }
        return try await database.write { transaction in
            try transaction.rows(
                """
                UPDATE hook_delivery SET \(held(for: time, by: identity)) WHERE number = \(delivery.number)
                    AND next IS NOT NULL AND attempts = \(delivery.attempts)\(isFree)
                RETURNING body
                """
            ) { $0.bytes(0) ?? [] }.first
        }
    }

    package func record(_ delivery: HookDelivery) async throws(StoreError) {
        let (hook, next) = (delivery.hook.number, delivery.next?.column)
        // If a delivery has been given up, it does not wait again. The body of a delivery that has ended is not needed.
        try await database.write([
            """
            UPDATE hook_delivery SET attempts = \(delivery.attempts), status = \(delivery.status),
                cause = \(delivery.cause), next = CASE WHEN next IS NULL THEN NULL ELSE \(next) END,
                body = CASE WHEN next IS NULL OR \(next) IS NULL THEN \(.noBytes) ELSE body END\(released)
            WHERE number = \(delivery.number) AND attempts < \(delivery.attempts)
            """,
            """
            DELETE FROM hook_delivery WHERE hook = \(hook) AND next IS NULL AND number <= (
                SELECT number FROM hook_delivery WHERE hook = \(hook) AND next IS NULL
                ORDER BY number DESC LIMIT 1 OFFSET \(HookDelivery.keptDeliveries))
            """,
        ])
    }

    package func deliveries(
        hook: String,
        app: Int64,
        before: Int64?,
        limit: Int,
    ) async throws(StoreError) -> [HookDelivery] {
        try await deliveries(
            """
            hook_delivery d ON d.hook = h.number WHERE h.id = \(hook) AND h.app = \(app)
                AND d.number < \(before ?? .max) ORDER BY d.number DESC LIMIT \(limit)
            """)
    }
}

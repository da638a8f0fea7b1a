package import Delivery
package import Notifications
package import SQLSupport
package import Storage

/// The bodies of Web Push that phones fetch, on either database. The statements are the same for both.
package struct SQLWebPushBodyStore: WebPushBodyStore {
    let database: any SQLDatabase

    package init(_ database: any SQLDatabase) { self.database = database }

    package func keep(_ body: KeptBody, at now: Timestamp, bytesOfAll: Int) async throws(StoreError) {
        let table = KeptBody.table
        try await database.write { transaction in
            let total = try Self.total(transaction) - Self.removeExpired(at: now, transaction).bytes
            let owned = try transaction.rows(
                """
                SELECT count(*), CAST(coalesce(sum(bytes), 0) AS bigint) FROM web_push_body WHERE owner = \(body.owner)
                """
            ) { (count: $0.integer(0) ?? 0, bytes: $0.integer(1) ?? 0) }.first
            let bytes = Int64(clamping: body.body.count)
            guard owned?.count ?? 0 < Int64(clamping: KeptBody.maximumCount),
                // fits: both are kept below the limits
                (owned?.bytes ?? 0) + bytes <= Int64(clamping: KeptBody.maximumBytes)
            else { throw StoreError.tooManyKeptBodies }
            // fits: both are kept below the limits
            guard total + bytes <= Int64(clamping: bytesOfAll) else { throw StoreError.keptBodiesAreFull }
            try transaction.run("INSERT INTO web_push_body (\(table.list)) VALUES (\(table.values(body)))")
            try Self.setTotal(total + bytes, transaction)  // fits: at most bytesOfAll
        }
    }

    package func body(with digest: [UInt8], at now: Timestamp) async throws(StoreError) -> KeptBody? {
        let table = KeptBody.table
        return try await database.read(
            """
            SELECT \(table.columns(of: "web_push_body")) FROM web_push_body
            WHERE digest = \(digest) AND expires > \(now.column)
            """
        ) { try table.row($0) }.first
    }

    package func fetched(_ digest: [UInt8], at now: Timestamp) async throws(StoreError) {
        let end = now.advanced(by: KeptBody.lifeAfterFetch)
        _ = try await database.write(
            """
            UPDATE web_push_body SET fetched = true, expires = \(end.column)
            WHERE digest = \(digest) AND NOT fetched AND expires > \(now.column)
            """)
    }

    package func remove(_ digest: [UInt8]) async throws(StoreError) {
        try await database.write { transaction in
            let total = try Self.total(transaction)
            let removed = try Self.remove("digest = \(digest)", transaction)
            if removed.count > 0 { try Self.setTotal(total - removed.bytes, transaction) }
        }
    }

    package func removeExpired(at now: Timestamp) async throws(StoreError) -> Int {
        try await database.write { transaction in
            let total = try Self.total(transaction)
            let removed = try Self.removeExpired(at: now, transaction)
            if removed.count > 0 { try Self.setTotal(total - removed.bytes, transaction) }
            return removed.count
        }
    }

    // MARK: The bytes of all

    /// The bytes of all bodies together. In PostgreSQL this locks the row, so that nodes cannot exceed the limits together.
    private static func total(_ transaction: any SQLTransaction) throws -> Int64 {
        try transaction.run(
            "INSERT INTO web_push_body_total (id, bytes) VALUES (0, 0) ON CONFLICT (id) DO NOTHING")
        return try transaction.number("SELECT bytes FROM web_push_body_total \(SQLStatement.forUpdate)") ?? 0
    }

    private static func setTotal(_ bytes: Int64, _ transaction: any SQLTransaction) throws {
        try transaction.run("UPDATE web_push_body_total SET bytes = \(max(0, bytes))")
    }

    private static func removeExpired(
        at now: Timestamp, _ transaction: any SQLTransaction
    ) throws -> (count: Int, bytes: Int64) {
        try remove("expires <= \(now.column)", transaction)
    }

    private static func remove(
        _ condition: SQLStatement, _ transaction: any SQLTransaction
    ) throws -> (count: Int, bytes: Int64) {
        let removed = try transaction.rows("DELETE FROM web_push_body WHERE \(condition) RETURNING bytes") {
            $0.integer(0) ?? 0
        }
        return (removed.count, removed.reduce(0, +))
    }

    // MARK: Copying

    package func bodies(after digest: [UInt8]?, limit: Int) async throws(StoreError) -> [KeptBody] {
        let table = KeptBody.table
        return try await database.read(
            """
            SELECT \(table.columns(of: "web_push_body")) FROM web_push_body
            WHERE digest > \(digest ?? []) ORDER BY digest LIMIT \(limit)
            """
        ) { try table.row($0) }
    }

    package func fill(_ bodies: [KeptBody]) async throws(StoreError) {
        let table = KeptBody.table
        try await database.write { transaction in
            var total = try Self.total(transaction)
            for body in bodies {
                try transaction.run("INSERT INTO web_push_body (\(table.list)) VALUES (\(table.values(body)))")
                total += Int64(clamping: body.body.count)
            }
            try Self.setTotal(total, transaction)
        }
    }
}

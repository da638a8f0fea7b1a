package import PostgresClient

/// The numbered migrations of a schema, and the table that says which of them were applied.
package struct PostgresMigrations: Sendable {
    package let schema: String
    /// The oldest build that works with the tables after all migrations, given as the newest migration that it knows.
    private let oldest: Int64
    private let migrations: [[StaticString]]

    /// The newest migration that this build knows.
    private var newest: Int64 { Int64(migrations.count) }

    package init(schema: String, oldest: Int64, _ migrations: [[StaticString]]) {
        self.schema = schema
        self.oldest = oldest
        self.migrations = migrations
    }

    /// How long a start waits for the locks that migrations need.
    package struct Patience: Sendable {
        /// How long one attempt waits for a lock. All transactions that want the same table wait behind it, so this is short.
        package var lock = Duration.milliseconds(200)
        /// The pause between two attempts, in which the others go on.
        package var pause = Duration.seconds(1)
        /// For how long new attempts are made.
        package var total = Duration.seconds(60)
        /// How long one statement of a migration may take: those that read a large table take longer than any other statement.
        package var statement = Duration.seconds(3600)

        package init() {}
    }

    /// Brings the tables up to date. Of several nodes that start at the same time, one does it and the others wait.
    /// - Returns: Why this build cannot use the tables; nil if it can.
    package func apply(
        _ connection: PostgresConnection,
        _ patience: Patience = Patience(),
    ) async throws(PostgresError) -> String? {
        try await makeFoundation(connection)
        let deadline = ContinuousClock.now.advanced(by: patience.total)
        while true {
            do throws(PostgresError) {
                return try await connection.transaction { transaction throws(PostgresError) in
                    try migrate(transaction, patience)
                }
            } catch  where error.isLockTimeout {
                guard ContinuousClock.now < deadline else { throw await blocked(connection) }
                // The sleep fails only if the task is cancelled. The deadline still ends the loop.
                try? await Task.sleep(for: patience.pause)
            }
        }
    }

    /// The error that names the session that holds a lock for the longest time.
    private func blocked(_ connection: PostgresConnection) async -> PostgresError {
        // Without a special right, the server does not say since when another user's session has had its transaction.
        let rows = try? await connection.execute(
            """
            SELECT l.pid::bigint, a.usename::text, c.relname::text,
                extract(epoch FROM clock_timestamp() - a.xact_start)::bigint
            FROM pg_locks AS l
            JOIN pg_class AS c ON c.oid = l.relation
            JOIN pg_namespace AS n ON n.oid = c.relnamespace
            JOIN pg_stat_activity AS a ON a.pid = l.pid AND a.datname = current_database()
            WHERE n.nspname = $1 AND l.granted AND l.pid <> pg_backend_pid()
            ORDER BY a.xact_start NULLS LAST, l.pid LIMIT 1
            """, [.text(schema)])
        guard let row = rows?.first, let session = row.integer(0), let table = row.text(2) else {
            return PostgresError(
                .unsuitable,
                "The tables cannot be brought up to date, because other transactions hold locks on them: start again.")
        }
        let time = row.integer(3).map { " for \($0) seconds" } ?? ""
        return PostgresError(
            .unsuitable,
            "The tables cannot be brought up to date: the session \(session) of the user \(row.text(1) ?? "?") has had a "
                + "lock on \(schema).\(table)\(time). If it is not another node that brings them up to date, end it with "
                + "SELECT pg_terminate_backend(\(session)), and start again.")
    }

    /// The statements that make the table which must exist before the first migration. A node locks its row while it
    /// migrates.
    private var foundation: [String] {
        [
            "CREATE SCHEMA IF NOT EXISTS \(schema)",
            """
            CREATE TABLE IF NOT EXISTS \(schema).schema_version (
                is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
                newest bigint NOT NULL,
                oldest bigint NOT NULL
            )
            """,
            "INSERT INTO \(schema).schema_version VALUES (true, 0, 0) ON CONFLICT DO NOTHING",
        ]
    }

    /// Makes the first table. `IF NOT EXISTS` is not enough if nodes start at the same time: a node may fail because
    /// another is just making the table. It then tries again, and finds the table.
    private func makeFoundation(_ connection: PostgresConnection) async throws(PostgresError) {
        let name = schema + ".schema_version"
        let isThere = try await connection.execute("SELECT to_regclass($1) IS NOT NULL", [.text(name)])
        guard isThere.first?.bool(0) != true else { return }
        for attempt in 1... {
            do throws(PostgresError) {
                _ = try await connection.transaction { transaction throws(PostgresError) in
                    for statement in foundation { try transaction.execute(PostgresStatement(assembled: statement)) }
                }
                return
            } catch  where attempt < 5 && (error.kind == .uniqueViolation || error.state?.hasPrefix("42P") == true) {
                continue
            }
        }
    }

    private func migrate(
        _ transaction: PostgresTransaction,
        _ patience: Patience,
    ) throws(PostgresError) -> String? {
        // Without a limit of its own, a migration would end with the limit of ordinary statements, at every start.
        for (setting, time) in [("lock_timeout", patience.lock), ("statement_timeout", patience.statement)] {
            try transaction.execute(
                PostgresStatement(
                    once: "SELECT set_config('\(setting)', $1, true)", [.text("\(time.wholeMilliseconds)")]))
        }
        let versions = try transaction.execute(
            PostgresStatement(
                assembled: "SELECT newest, oldest FROM \(schema).schema_version WHERE is_only FOR UPDATE"))
        guard let row = versions.first, let present = row.integer(0), let oldest = row.integer(1) else {
            return "The table \(schema).schema_version is damaged: restore a backup of the database."
        }
        guard oldest <= newest else {
            return "The database was made by a newer version of Carillon (schema \(present)): install that version."
        }
        guard present < newest else { return nil }
        for migration in migrations.dropFirst(Int(clamping: present)) {
            for statement in migration {
                try transaction.execute(PostgresStatement(statement), within: patience.statement)
            }
        }
        try transaction.execute(
            PostgresStatement(
                assembled: "UPDATE \(schema).schema_version SET newest = \(newest), oldest = \(self.oldest)"))
        return nil
    }
}

extension PostgresError {
    /// Whether the statement has waited too long for a lock.
    fileprivate var isLockTimeout: Bool { state == "55P03" }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000  // fits: a time limit, a setting
    }
}

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

    /// Brings the tables up to date. Of several nodes that start at the same time, one does it and the others wait.
    /// - Returns: Why this build cannot use the tables; nil if it can.
    package func apply(_ connection: PostgresConnection) async throws(PostgresError) -> String? {
        try await makeFoundation(connection)
        return try await connection.transaction { transaction throws(PostgresError) in try migrate(transaction) }
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

    private func migrate(_ transaction: PostgresTransaction) throws(PostgresError) -> String? {
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
            for statement in migration { try transaction.execute(statement) }
        }
        try transaction.execute(
            PostgresStatement(
                assembled: "UPDATE \(schema).schema_version SET newest = \(newest), oldest = \(self.oldest)"))
        return nil
    }
}

import SQLSupport
package import Storage

extension SQLCampaignStore {
    /// Selects saved audiences.
    private func audiences(_ rest: SQLStatement) async throws(StoreError) -> [SavedAudience] {
        try await database.read("SELECT \(SavedAudience.table.columns(of: "a")) FROM audience a \(rest)") {
            try SavedAudience.table.row($0)
        }
    }

    package func audiences(app: Int64) async throws(StoreError) -> [SavedAudience] {
        let order = SQLStatement.either(sqlite: "name", postgresql: "name COLLATE \"C\"")
        return try await audiences("WHERE app = \(app) ORDER BY \(order)")
    }

    package func audience(_ name: String, app: Int64) async throws(StoreError) -> SavedAudience? {
        try await audiences("WHERE app = \(app) AND name = \(name)").first
    }

    package func put(_ audience: SavedAudience, limit: Int) async throws(StoreError) -> Bool {
        let (table, demandPrompt) = (SavedAudience.table, promptness())
        return try await database.write { transaction in
            try lock(app: audience.app, transaction)
            try demandPrompt()
            let changed = try transaction.run(
                """
                UPDATE audience SET \(table.assignments(audience)) WHERE app = \(audience.app) AND name = \(audience.name)
                """)
            guard changed == 0 else { return false }
            let count = try transaction.number("SELECT count(*) FROM audience WHERE app = \(audience.app)")
            guard count ?? 0 < Int64(limit) else {  // fits: a limit of ours
                throw StoreError(.conflict, "The app has \(limit) saved audiences already: delete one first.")
            }
            try transaction.run("INSERT INTO audience (\(table.list)) VALUES (\(table.values(audience)))")
            return true
        }
    }

    package func deleteAudience(_ name: String, app: Int64) async throws(StoreError) -> Bool {
        let demandPrompt = promptness()
        return try await database.write { transaction in
            try lock(app: app, transaction)
            try demandPrompt()
            return try transaction.run("DELETE FROM audience WHERE app = \(app) AND name = \(name)") > 0
        }
    }
}

import SQLSupport
package import Storage

extension SQLCampaignStore {
    package func apps() async throws(StoreError) -> [ProviderApp] {
        try await database.read("SELECT \(ProviderApp.table.columns(of: "app")) FROM app ORDER BY bundle_id") {
            try ProviderApp.table.row($0)
        }
    }

    package func changeApp(
        _ bundleID: String,
        _ change: @escaping @Sendable (ProviderApp?) throws -> ProviderApp,
    ) async throws -> ProviderApp {
        let (table, demandPrompt) = (ProviderApp.table, promptness())
        return try await database.transact { transaction in
            // The row is locked. If there is none, one of two servers that add the app at the same time fails, and repeats
            // the transaction with the row of the other.
            let known = try transaction.rows(
                "SELECT \(table.columns(of: "app")) FROM app WHERE bundle_id = \(bundleID) \(.forUpdate)"
            ) { try table.row($0) }.first
            try demandPrompt()
            var app = try change(known)
            let number = try transaction.number(
                known == nil
                    ? "INSERT INTO app (\(table.list)) VALUES (\(table.values(app))) RETURNING number"
                    : "UPDATE app SET \(table.assignments(app)) WHERE bundle_id = \(bundleID) RETURNING number")
            app.number = number ?? 0
            return app
        }
    }

    package func deleteApp(_ number: Int64) async throws(StoreError) {
        // No server can hold these messages any more, so all of them stop sending within about a second.
        _ = try await database.write(
            "UPDATE message SET state = 'cancelled'\(released) WHERE app = \(number) AND state <> 'finished'")
        let outcomes: @Sendable (Int) -> SQLStatement = { limit in
            """
            DELETE FROM outcome WHERE (message, installation) IN (
                SELECT o.message, o.installation FROM message m
                JOIN outcome o ON o.message = m.number WHERE m.app = \(number) LIMIT \(limit))
            """
        }
        try await deleteInSteps(outcomes)
        try await deleteInSteps { limit in
            """
            DELETE FROM installation WHERE number IN (
                SELECT number FROM installation WHERE app = \(number) LIMIT \(limit))
            """
        }
        try await delete("DELETE FROM app WHERE number = \(number)", after: outcomes, ofMessages: "app = \(number)")
    }
}

import Notifications
import SQLSupport
package import Storage

extension SQLCampaignStore {
    /// Selects installations.
    /// - Parameter isKept: whether the command is kept prepared. See ``SQLStatement/once``.
    func installations(_ rest: SQLStatement, isKept: Bool = true) async throws(StoreError) -> [Recipient] {
        let statement: SQLStatement =
            "SELECT i.number, \(Installation.table.columns(of: "i")) FROM installation i WHERE \(rest)"
        return try await database.read(isKept ? statement : statement.once) { row in
            Recipient(number: row.integer(0) ?? 0, installation: try Installation.table.row(row, from: 1))
        }
    }

    package func installations(app: Int64, after: Int64, limit: Int) async throws(StoreError) -> [Recipient] {
        try await installations("i.app = \(app) AND i.number > \(after) ORDER BY i.number LIMIT \(max(0, limit))")
    }

    package func installations(app: Int64, user: String, limit: Int) async throws(StoreError) -> [Recipient] {
        try await installations(
            """
            i.app = \(app) AND i.\(Installation.userColumn.sql) = \(user) ORDER BY i.number LIMIT \(max(0, limit))
            """)
    }

    private func selecting(_ id: String, _ app: Int64) -> SQLStatement {
        """
        SELECT i.secret, \(Installation.table.columns(of: "i")) FROM installation i WHERE i.app = \(app) AND i.id = \(id)
        """
    }

    private func stored(_ row: any SQLRow) throws -> StoredInstallation {
        StoredInstallation(try Installation.table.row(row, from: 1), secretDigest: row.bytes(0))
    }

    package func installation(_ id: String, app: Int64) async throws(StoreError) -> StoredInstallation? {
        try await database.read(selecting(id, app)) { try stored($0) }.first
    }

    package func changeInstallation(
        _ id: String,
        app: Int64,
        _ change: @escaping @Sendable (StoredInstallation?) throws -> InstallationChange,
    ) async throws -> StoredInstallation? {
        let demandPrompt = promptness()
        return try await database.transact { transaction in
            let known = try transaction.rows(selecting(id, app) + " " + .forUpdate) { try stored($0) }.first
            try demandPrompt()
            switch try change(known) {
            case .keep: return known
            case .delete:
                try transaction.run("DELETE FROM installation WHERE app = \(app) AND id = \(id)")
                return nil
            case .put(let new):
                try transaction.run(replacing([new.installation], app))
                // If there was no row to lock, another request may have added one since. It must not be overwritten.
                let writing = try writing([new], app, isImport: false, replaces: known != nil)
                guard try transaction.run(writing) == 0 else { return new }
                let isThere = try transaction.number("SELECT 1 FROM app WHERE number = \(app)") != nil
                guard !isThere else { throw TransactionConflict() }
                throw StoreError.appDeleted
            }
        }
    }

    package func importInstallations(_ installations: [Installation], app: Int64) async throws(StoreError) {
        guard !installations.isEmpty else { return }
        let installations = distinct(installations)
        let demandPrompt = promptness()
        let isThere = try await database.write { transaction in
            // Lock the rows that are there, always in the same order, so that two imports never wait for each other.
            try transaction.run(
                """
                SELECT 1 FROM installation WHERE app = \(app) AND id \(.anyOf(installations.map(\.id))) ORDER BY id
                \(.forUpdate)
                """)
            try demandPrompt()
            try transaction.run(replacing(installations, app))
            let stored = installations.map { StoredInstallation($0, secretDigest: nil) }
            return try transaction.run(writing(stored, app, isImport: true, replaces: true)) > 0
        }
        guard isThere else { throw .appDeleted }
    }

    /// The installations that a list results in, as if they were added one after the other: the last one with an identifier
    /// counts, and a device token belongs to the last installation that has it.
    private func distinct(_ installations: [Installation]) -> [Installation] {
        let now = now()
        var places: [String: Int] = [:]
        var owners: [InstallationToken: Int] = [:]
        var result: [Installation] = []
        for installation in installations {
            let place = places[installation.id] ?? result.count
            places[installation.id] = place
            if place == result.count { result.append(installation) } else { result[place] = installation }
            guard installation.end == nil else { continue }
            let token = InstallationToken(environment: installation.environment, digits: installation.deviceToken)
            if let owner = owners[token], owner != place, result[owner].end == nil,
                result[owner].deviceToken == token.digits, result[owner].environment == token.environment
            {
                result[owner].end = Installation.End(at: now, reason: Installation.End.replaced)
            }
            owners[token] = place
        }
        return result
    }

    /// Ends other installations with the same device tokens. A device token belongs to one installation. If it is
    /// registered again under another identifier, the app was reinstalled.
    private func replacing(_ installations: [Installation], _ app: Int64) throws -> SQLStatement {
        let now = now()
        let batch = try Installation.table.batch(installations.filter { $0.end == nil })
        return """
            UPDATE installation AS i SET ended = \(now.column), end_reason = \(Installation.End.replaced),
                changed = \(now.column)
            FROM \(batch) WHERE i.app = \(app) AND i.environment = n.environment AND i.token = n.token
                AND i.ended IS NULL AND i.id <> n.id
            """
    }

    /// Adds installations, if the app is still there.
    /// - Parameters:
    ///   - isImport: whether the secrets of installations that are there stay, and a later time of registration of the same
    ///     device token.
    ///   - replaces: whether installations that are there are replaced. If not, they stay.
    private func writing(
        _ installations: [StoredInstallation],
        _ app: Int64,
        isImport: Bool,
        replaces: Bool,
    ) throws -> SQLStatement {
        let table = Installation.table
        let batch = try table.batch(
            installations.map(\.installation), ("secret", .bytes, installations.map { .bytes($0.secretDigest) }))
        // A server of an older version writes no time.
        let created: SQLStatement = """
            CASE WHEN i.created > 0 AND i.created < excluded.created THEN i.created ELSE excluded.created END
            """
        let kept: [ColumnName: SQLStatement] = [
            "created": created,
            "registered": """
            CASE WHEN i.token = excluded.token AND i.registered > excluded.registered THEN i.registered
            ELSE excluded.registered END
            """,
        ]
        let secret: SQLStatement = isImport ? "i.secret" : "excluded.secret"
        return """
            INSERT INTO installation AS i (app, \(table.list), secret)
            SELECT app.number, n.* FROM app, \(batch) WHERE app.number = \(app)
            ON CONFLICT (app, id) DO UPDATE SET \(table.replacements(except: isImport ? kept : ["created": created])), secret = \(secret)
            WHERE \(.value(.bool(replaces)))
            """
    }

    package func lastInstallation() async throws(StoreError) -> Int64 {
        try await database.read("SELECT max(number) FROM installation") { $0.integer(0) ?? 0 }.first ?? 0
    }

    package func appVersions(app: Int64, limit: Int) async throws(StoreError) -> [String] {
        try await database.read(
            """
            SELECT DISTINCT app_version FROM installation
            WHERE app = \(app) AND ended IS NULL AND app_version IS NOT NULL LIMIT \(max(0, limit))
            """
        ) { $0.text(0) ?? "" }
    }

    package func timeZones(app: Int64) async throws(StoreError) -> [String] {
        try await database.read(
            """
            SELECT DISTINCT \(Installation.timeZone) FROM installation i WHERE i.app = \(app) AND i.ended IS NULL
            """
        ) { $0.text(0) ?? "" }
    }
}

extension Installation {
    /// The time zone of the installation `i`. Without one, it counts as GMT.
    static let timeZone: SQLStatement = "CASE i.time_zone WHEN '' THEN 'GMT' ELSE i.time_zone END"
}

/// Identifies a device token of an app.
private struct InstallationToken: Hashable {
    let environment: Environment
    let digits: String
}

import Foundation
import GRDB
import Notifications
import SQLiteSupport
package import Storage

extension SQLiteCampaignStore {
    /// The columns in the order in which ``recipient(_:)`` reads them.
    static let installationColumns = """
        i.number, i.id, i.environment, i.token, i.languages, i.time_zone, i.user, i.tags, i.app_version, i.user_values, \
        i.registered, i.changed, i.ended, i.end_reason
        """

    static func recipient(_ row: Row) throws -> Recipient {
        var installation = Installation(
            id: row.text(1), deviceToken: Hexadecimal.string(row.blob(3)),
            environment: Environment(column: row.integer(2)) ?? .development,
            registered: Timestamp(column: row.integer(10)))
        installation.languages = WordColumn.words(row.text(4))
        let timeZone = row.text(5)
        installation.timeZone = timeZone.isEmpty ? nil : timeZone
        installation.user = row.optionalText(6)
        installation.tags = WordColumn.words(row.text(7))
        installation.appVersion = row.optionalText(8)
        if let values = row.optionalBlob(9) {
            installation.values = try JSONDecoder().decode([String: JSONValue].self, from: values)
        }
        installation.changed = Timestamp(column: row.integer(11))
        installation.end = row.optionalInteger(12).map {
            Installation.End(at: Timestamp(column: $0), reason: row.text(13))
        }
        return Recipient(number: row.integer(0), installation: installation)
    }

    package func installation(_ id: String, app: Int64) async throws(StoreError) -> StoredInstallation? {
        try await read { try Self.stored(id, app, $0)?.1 }
    }

    private static func stored(
        _ id: String,
        _ app: Int64,
        _ database: Database,
    ) throws -> (number: Int64, StoredInstallation)? {
        let statement = try database.cachedStatement(
            sql: "SELECT \(installationColumns), i.secret FROM installation i WHERE i.app = ? AND i.id = ?")
        guard let row = try Row.fetchOne(statement, arguments: [app, id]) else { return nil }
        let recipient = try recipient(row)
        let secret = row.optionalBlob(14).map { Array($0) }
        return (recipient.number, StoredInstallation(recipient.installation, secretDigest: secret))
    }

    package func changeInstallation(
        _ id: String,
        app: Int64,
        _ change: @escaping @Sendable (StoredInstallation?) throws -> InstallationChange,
    ) async throws -> StoredInstallation? {
        try await commit { [now] database in
            let known = try Self.stored(id, app, database)
            switch try change(known?.1) {
            case .keep: return known?.1
            case .delete:
                try database.cachedStatement(sql: "DELETE FROM installation WHERE number = ?")
                    .execute(arguments: [known?.number])
                return nil
            case .put(let stored):
                try Self.put(stored, number: known?.number, app: app, database, now: now())
                return stored
            }
        }
    }

    package func importInstallations(_ installations: [Installation], app: Int64) async throws(StoreError) {
        guard !installations.isEmpty else { return }
        try await write { [now] database in
            for installation in installations {
                let known = try Self.stored(installation.id, app, database)
                var stored = StoredInstallation(installation, secretDigest: known?.1.secretDigest)
                if let old = known?.1.installation, old.deviceToken == installation.deviceToken {
                    stored.installation.registered = max(old.registered, installation.registered)
                }
                try Self.put(stored, number: known?.number, app: app, database, now: now())
            }
        }
    }

    private static func put(
        _ stored: StoredInstallation,
        number: Int64?,
        app: Int64,
        _ database: Database,
        now: Timestamp,
    ) throws {
        let installation = stored.installation
        let token = Data(hexadecimal: installation.deviceToken)
        if installation.end == nil {
            // A device token belongs to one installation. If it is registered again under another identifier, the app
            // was reinstalled.
            try database.cachedStatement(
                sql: """
                    UPDATE installation SET ended = ?, end_reason = ?, changed = ?
                    WHERE app = ? AND environment = ? AND token = ? AND ended IS NULL AND id <> ?
                    """
            ).execute(arguments: [
                now.column, Installation.End.replaced, now.column, app, installation.environment.column, token,
                installation.id,
            ])
        }
        let values: [(any DatabaseValueConvertible)?] = [
            installation.environment.column, token, installation.languages.first?.lowercased() ?? "",
            WordColumn.text(installation.languages), installation.timeZone ?? "", installation.user,
            WordColumn.text(installation.tags), installation.appVersion,
            installation.values.isEmpty ? nil : try JSONEncoder().encode(installation.values),
            installation.registered.column, installation.changed.column, installation.end?.at.column,
            installation.end?.reason, stored.secretDigest.map { Data($0) },
        ]
        let sql =
            number == nil
            ? """
            INSERT INTO installation (
                environment, token, language, languages, time_zone, user, tags, app_version, user_values, registered,
                changed, ended, end_reason, secret, app, id
            ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
            : """
            UPDATE installation SET
                environment = ?, token = ?, language = ?, languages = ?, time_zone = ?, user = ?, tags = ?,
                app_version = ?, user_values = ?, registered = ?, changed = ?, ended = ?, end_reason = ?, secret = ?
            WHERE number = ?
            """
        let place: [(any DatabaseValueConvertible)?] = number.map { [$0] } ?? [app, installation.id]
        try database.cachedStatement(sql: sql).execute(arguments: StatementArguments(values + place))
    }

    package func installations(app: Int64, after: Int64, limit: Int) async throws(StoreError) -> [Recipient] {
        try await read { database in
            let sql = """
                SELECT \(Self.installationColumns) FROM installation i
                WHERE i.app = ? AND i.number > ? ORDER BY i.number LIMIT ?
                """
            return try Row.fetchAll(database, sql: sql, arguments: [app, after, limit]).map(Self.recipient)
        }
    }

    package func installations(app: Int64, user: String, limit: Int) async throws(StoreError) -> [Recipient] {
        try await read { database in
            let sql = """
                SELECT \(Self.installationColumns) FROM installation i
                WHERE i.app = ? AND i.user = ? ORDER BY i.number LIMIT ?
                """
            return try Row.fetchAll(database, sql: sql, arguments: [app, user, limit]).map(Self.recipient)
        }
    }

    package func lastInstallation() async throws(StoreError) -> Int64 {
        try await read { try Int64.fetchOne($0, sql: "SELECT max(number) FROM installation") ?? 0 }
    }

    package func timeZones(app: Int64) async throws(StoreError) -> [String] {
        try await read { database in
            try String.fetchAll(
                database,
                sql: """
                    SELECT DISTINCT CASE time_zone WHEN '' THEN 'GMT' ELSE time_zone END
                    FROM installation WHERE app = ? AND ended IS NULL
                    """,
                arguments: [app])
        }
    }
}

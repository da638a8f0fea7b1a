package import CampaignStore
import Foundation
import Notifications
import PostgresClient
import PostgresSupport
package import Storage

extension PostgresCampaignStore {
    /// The columns in the order in which ``recipient(_:)`` reads them.
    static let installationColumns = """
        i.number, i.id, i.environment, i.token, i.languages, i.time_zone, i.user_name, i.tags, i.app_version, \
        i.user_values, i.registered, i.changed, i.ended, i.end_reason
        """

    static func recipient(_ row: PostgresRow) throws(PostgresError) -> Recipient {
        var installation = Installation(
            id: row.line(1), deviceToken: Hexadecimal.string(row.bytes(3) ?? []),
            environment: Environment(column: row.number(2)) ?? .development,
            registered: Timestamp(column: row.number(10)))
        installation.languages = WordColumn.words(row.line(4))
        let timeZone = row.line(5)
        installation.timeZone = timeZone.isEmpty ? nil : timeZone
        installation.user = row.text(6)
        installation.tags = WordColumn.words(row.line(7))
        installation.appVersion = row.text(8)
        if let values = row.bytes(9) {
            do {
                installation.values = try JSONDecoder().decode([String: JSONValue].self, from: Data(values))
            } catch {
                throw .damaged("an installation")
            }
        }
        installation.changed = Timestamp(column: row.number(11))
        installation.end = row.moment(12).map { Installation.End(at: $0, reason: row.line(13)) }
        return Recipient(number: row.number(0), installation: installation)
    }

    static func recipients(_ rows: PostgresRows) throws(StoreError) -> [Recipient] {
        do throws(PostgresError) {
            return try rows.map { row throws(PostgresError) in try recipient(row) }
        } catch {
            throw error.storeError
        }
    }

    private static func stored(
        _ id: String,
        _ app: Int64,
        locking: Bool,
    ) -> PostgresStatement {
        PostgresStatement(
            assembled: """
                SELECT \(installationColumns), i.secret FROM carillon_provider.installation i
                WHERE i.app = $1 AND i.id = $2\(locking ? " FOR UPDATE" : "")
                """,
            [.integer(app), .line(id)])
    }

    private static func stored(_ row: PostgresRow) throws(PostgresError) -> StoredInstallation {
        StoredInstallation(try recipient(row).installation, secretDigest: row.bytes(14))
    }

    package func installation(_ id: String, app: Int64) async throws(StoreError) -> StoredInstallation? {
        let rows = try await read(Self.stored(id, app, locking: false))
        do throws(PostgresError) {
            return try rows.first.map { row throws(PostgresError) in try Self.stored(row) }
        } catch {
            throw error.storeError
        }
    }

    package func changeInstallation(
        _ id: String,
        app: Int64,
        _ change: @escaping @Sendable (StoredInstallation?) throws -> InstallationChange,
    ) async throws -> StoredInstallation? {
        let now = configuration.now
        let result = try await transact { transaction throws(PostgresError) -> Result<StoredInstallation?, any Error> in
            let known = try transaction.execute(Self.stored(id, app, locking: true)).first
            let stored = try known.map { row throws(PostgresError) in try Self.stored(row) }
            let decision: InstallationChange
            do {
                decision = try change(stored)
            } catch {
                return .failure(error)
            }
            switch decision {
            case .keep: return .success(stored)
            case .delete:
                try transaction.execute(
                    "DELETE FROM carillon_provider.installation WHERE app = $1 AND id = $2", [.integer(app), .line(id)])
                return .success(nil)
            case .put(let new):
                let columns = try InstallationColumns([new])
                try transaction.execute(columns.replacing(app, at: now()))
                // If there was no row to lock, another request may have added one since. It must not be overwritten.
                let writing = columns.writing(app, keepsSecrets: false, replaces: stored != nil)
                guard try transaction.execute(writing).affected == 0 else { return .success(new) }
                let isThere =
                    try transaction.execute(
                        "SELECT 1 FROM carillon_provider.app WHERE number = $1", [.integer(app)]
                    ).count > 0
                guard !isThere else { throw PostgresError(.conflict, "The installation was added by another request.") }
                return .failure(Self.deleted)
            }
        }
        return try result.get()
    }

    private static let deleted = StoreError(.missing, "The app was deleted.")

    package func importInstallations(_ installations: [Installation], app: Int64) async throws(StoreError) {
        guard !installations.isEmpty else { return }
        let now = configuration.now()
        let columns: InstallationColumns
        do throws(PostgresError) {
            columns = try InstallationColumns(
                Self.distinct(installations, at: now).map { StoredInstallation($0, secretDigest: nil) })
        } catch {
            throw error.storeError
        }
        let answers = try await write([
            columns.locking(app), columns.replacing(app, at: now),
            columns.writing(app, keepsSecrets: true, replaces: true),
        ])
        guard answers.last?.affected ?? 0 > 0 else { throw Self.deleted }
    }

    /// The installations that a list results in, as if they were added one after the other: the last one with an identifier
    /// counts, and a device token belongs to the last installation that has it.
    private static func distinct(_ installations: [Installation], at now: Timestamp) -> [Installation] {
        struct Token: Hashable {
            let environment: Environment
            let digits: String
        }
        var places: [String: Int] = [:]
        var owners: [Token: Int] = [:]
        var result: [Installation] = []
        for installation in installations {
            let place = places[installation.id] ?? result.count
            places[installation.id] = place
            if place == result.count { result.append(installation) } else { result[place] = installation }
            guard installation.end == nil else { continue }
            let token = Token(environment: installation.environment, digits: installation.deviceToken)
            if let owner = owners[token], owner != place, result[owner].end == nil,
                result[owner].deviceToken == token.digits, result[owner].environment == token.environment
            {
                result[owner].end = Installation.End(at: now, reason: Installation.End.replaced)
            }
            owners[token] = place
        }
        return result
    }

    package func installations(app: Int64, after: Int64, limit: Int) async throws(StoreError) -> [Recipient] {
        try Self.recipients(
            try await read(
                PostgresStatement(
                    assembled: """
                        SELECT \(Self.installationColumns) FROM carillon_provider.installation i
                        WHERE i.app = $1 AND i.number > $2 ORDER BY i.number LIMIT $3
                        """,
                    [.integer(app), .integer(after), .integer(Int64(max(0, limit)))])))
    }

    package func installations(app: Int64, user: String, limit: Int) async throws(StoreError) -> [Recipient] {
        try Self.recipients(
            try await read(
                PostgresStatement(
                    assembled: """
                        SELECT \(Self.installationColumns) FROM carillon_provider.installation i
                        WHERE i.app = $1 AND i.user_name = $2 ORDER BY i.number LIMIT $3
                        """,
                    [.integer(app), .line(user), .integer(Int64(max(0, limit)))])))
    }

    package func lastInstallation() async throws(StoreError) -> Int64 {
        try await read("SELECT coalesce(max(number), 0) FROM carillon_provider.installation").first?.integer(0) ?? 0
    }

    package func timeZones(app: Int64) async throws(StoreError) -> [String] {
        try await read(
            """
            SELECT DISTINCT CASE time_zone WHEN '' THEN 'GMT' ELSE time_zone END
            FROM carillon_provider.installation WHERE app = $1 AND ended IS NULL
            """, [.integer(app)]
        ).map { $0.line(0) }
    }
}

/// The values of installations as arrays, one for each column, so that one statement writes all of them.
private struct InstallationColumns {
    private let installations: [StoredInstallation]
    private let tokens: [[UInt8]?]
    private let userValues: [[UInt8]?]

    init(_ installations: [StoredInstallation]) throws(PostgresError) {
        self.installations = installations
        tokens = installations.map { Hexadecimal.bytes($0.installation.deviceToken) ?? [] }
        do {
            userValues = try installations.map {
                $0.installation.values.isEmpty ? nil : Array(try JSONEncoder().encode($0.installation.values))
            }
        } catch {
            throw PostgresError(.other, "A value of an installation cannot be encoded.")
        }
    }

    private func integers(_ value: (Installation) -> Int64?) -> PostgresValue {
        .integers(installations.map { value($0.installation) })
    }

    private func lines(_ value: (Installation) -> String?) -> PostgresValue {
        .lines(installations.map { value($0.installation) })
    }

    /// Locks the rows that are there, always in the same order, so that two imports never wait for each other.
    func locking(_ app: Int64) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT 1 FROM carillon_provider.installation WHERE app = $1 AND id = ANY ($2) ORDER BY id FOR UPDATE
            """, [.integer(app), lines { $0.id }])
    }

    /// Ends other installations with the same device tokens. A device token belongs to one installation. If it is
    /// registered again under another identifier, the app was reinstalled.
    func replacing(_ app: Int64, at now: Timestamp) -> PostgresStatement {
        PostgresStatement(
            """
            UPDATE carillon_provider.installation AS i SET ended = $2, end_reason = $3, changed = $2
            FROM unnest($4::bigint[], $5::bytea[], $6::text[], $7::bigint[]) AS n (environment, token, id, ended)
            WHERE i.app = $1 AND i.environment = n.environment AND i.token = n.token AND i.ended IS NULL
                AND n.ended IS NULL AND i.id <> n.id
            """,
            [
                .integer(app), .moment(now), .text(Installation.End.replaced), integers { $0.environment.column },
                .byteArrays(tokens), lines { $0.id }, integers { $0.end?.at.column },
            ])
    }

    /// Adds installations, if the app is still there.
    /// - Parameter replaces: whether installations that are there are replaced. If not, they stay.
    func writing(_ app: Int64, keepsSecrets: Bool, replaces: Bool) -> PostgresStatement {
        PostgresStatement(
            """
            INSERT INTO carillon_provider.installation AS i (
                app, id, environment, token, language, languages, time_zone, user_name, tags, app_version, user_values,
                registered, changed, ended, end_reason, secret
            )
            SELECT app.number, n.* FROM carillon_provider.app AS app, unnest(
                $2::text[], $3::bigint[], $4::bytea[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
                $10::text[], $11::bytea[], $12::bigint[], $13::bigint[], $14::bigint[], $15::text[], $16::bytea[]) AS n
            WHERE app.number = $1
            ON CONFLICT (app, id) DO UPDATE SET
                environment = excluded.environment, token = excluded.token, language = excluded.language,
                languages = excluded.languages, time_zone = excluded.time_zone, user_name = excluded.user_name,
                tags = excluded.tags, app_version = excluded.app_version, user_values = excluded.user_values,
                registered = CASE WHEN $17 AND i.token = excluded.token THEN greatest(i.registered, excluded.registered)
                    ELSE excluded.registered END,
                changed = excluded.changed, ended = excluded.ended,
                end_reason = excluded.end_reason, secret = CASE WHEN $17 THEN i.secret ELSE excluded.secret END
            WHERE $18
            """,
            [
                .integer(app), lines { $0.id }, integers { $0.environment.column }, .byteArrays(tokens),
                lines { $0.languages.first?.lowercased() ?? "" }, lines { WordColumn.text($0.languages) },
                lines { $0.timeZone ?? "" }, lines { $0.user }, lines { WordColumn.text($0.tags) },
                lines { $0.appVersion },
                .byteArrays(userValues), integers { $0.registered.column }, integers { $0.changed.column },
                integers { $0.end?.at.column }, lines { $0.end?.reason },
                .byteArrays(installations.map(\.secretDigest)), .bool(keepsSecrets), .bool(replaces),
            ])
    }
}

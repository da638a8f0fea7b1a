import Foundation
import GRDB
package import Notifications
import SQLiteSupport
package import Storage

extension SQLiteCampaignStore {
    package func recipients(_ query: RecipientQuery, limit: Int) async throws(StoreError) -> [Recipient] {
        try await read { database in
            var search = RecipientSearch(query)
            let sql = search.sql(Self.installationColumns) + " ORDER BY i.number LIMIT \(max(0, limit))"
            let statement = try database.cachedStatement(sql: sql)
            return try Row.fetchAll(statement, arguments: StatementArguments(search.arguments)).map(Self.recipient)
        }
    }

    package func count(_ query: RecipientQuery) async throws(StoreError) -> Int64 {
        try await read { database in
            var search = RecipientSearch(query)
            let sql = search.sql("count(*)")
            return try Int64.fetchOne(database, sql: sql, arguments: StatementArguments(search.arguments)) ?? 0
        }
    }

    package func record(
        _ outcomes: [SendOutcome],
        of message: MessageRecord,
        position: MessageRecord.Position,
        event: @escaping @Sendable ([EndedInstallation]) -> ProviderEvent,
    ) async throws(StoreError) -> Int {
        try await write { [now, waitingDeliveries] database in
            let insert = try database.cachedStatement(
                sql: "INSERT OR IGNORE INTO outcome (message, installation, at, status, reason) VALUES (?, ?, ?, ?, ?)")
            var (accepted, failed): (Int64, [String: Int64]) = (0, [:])
            var ended: [EndedInstallation] = []
            for outcome in outcomes {
                try insert.execute(arguments: [
                    message.number, outcome.installation, outcome.at.column, outcome.status, outcome.reason,
                ])
                // If the outcome was stored before, do not count it again.
                guard database.changesCount > 0 else { continue }
                if let reason = outcome.reason { failed[reason, default: 0] += 1 } else { accepted += 1 }
                guard let endedAt = outcome.endedAt else { continue }
                if let id = try Self.end(outcome, endedAt, now: now(), database) {
                    ended.append(EndedInstallation(id: id, reason: outcome.reason ?? "", at: endedAt))
                }
            }
            for (reason, count) in failed {
                try database.cachedStatement(
                    sql: """
                        INSERT INTO tally (message, reason, count) VALUES (?, ?, ?)
                        ON CONFLICT (message, reason) DO UPDATE SET count = count + excluded.count
                        """
                ).execute(arguments: [message.number, reason, count])
            }
            try database.cachedStatement(
                sql: """
                    UPDATE message SET accepted = accepted + ?, due = ?, environment = ?, after = ? WHERE number = ?
                    """
            ).execute(arguments: [
                accepted, position.due.column, position.environment.column, position.after, message.number,
            ])
            if !ended.isEmpty {
                try Self.add(event(ended), app: message.app, at: now(), limit: waitingDeliveries, database)
            }
            return ended.count
        }
    }

    /// Ends an installation, unless the app registered its device token after the service found it invalid (Guide,
    /// Table 8-5), or has another one by now.
    /// - Returns: The installation's identifier, if it ended now.
    private static func end(
        _ outcome: SendOutcome,
        _ endedAt: Timestamp,
        now: Timestamp,
        _ database: Database,
    ) throws -> String? {
        let statement = try database.cachedStatement(
            sql: """
                UPDATE installation SET ended = ?, end_reason = ?, changed = ?
                WHERE number = ? AND ended IS NULL AND registered <= ? AND token = coalesce(?, token) RETURNING id
                """)
        return try String.fetchOne(
            statement,
            arguments: [
                endedAt.column, outcome.reason, now.column, outcome.installation, endedAt.column,
                outcome.endedToken.map { Data(hexadecimal: $0) },
            ])
    }

    package func endInstallations(
        app: Int64,
        environment: Environment,
        tokens: [(token: String, endedAt: Timestamp)],
        event: @escaping @Sendable ([EndedInstallation]) -> ProviderEvent,
    ) async throws(StoreError) -> Int {
        try await write { [now, waitingDeliveries] database in
            let find = try database.cachedStatement(
                sql: "SELECT number FROM installation WHERE app = ? AND environment = ? AND token = ? AND ended IS NULL"
            )
            var ended: [EndedInstallation] = []
            // If a device token comes twice, its latest time counts.
            for (token, endedAt) in tokens.sorted(by: { $0.endedAt > $1.endedAt }) {
                let number = try Int64.fetchOne(
                    find, arguments: [app, environment.column, Data(hexadecimal: token)])
                guard let number else { continue }
                let outcome = SendOutcome(
                    installation: number, status: 0, reason: Installation.End.feedback, at: endedAt)
                if let id = try Self.end(outcome, endedAt, now: now(), database) {
                    ended.append(EndedInstallation(id: id, reason: Installation.End.feedback, at: endedAt))
                }
            }
            if !ended.isEmpty {
                try Self.add(event(ended), app: app, at: now(), limit: waitingDeliveries, database)
            }
            return ended.count
        }
    }

    package func outcomes(
        of message: Int64,
        _ filter: OutcomeFilter,
        after: Int64,
        limit: Int,
    ) async throws(StoreError) -> [KeptOutcome] {
        let (condition, reason): (String, String?) =
            switch filter {
            case .all: ("?3 IS NULL", nil)
            case .accepted: ("o.reason IS NULL AND ?3 IS NULL", nil)
            case .failed: ("o.reason IS NOT NULL AND ?3 IS NULL", nil)
            case .reason(let reason): ("o.reason = ?3", reason)
            }
        return try await read { database in
            let rows = try Row.fetchAll(
                database,
                sql: """
                    SELECT o.installation, o.status, o.reason, o.at, i.id
                    FROM outcome o LEFT JOIN installation i ON i.number = o.installation
                    WHERE o.message = ?1 AND o.installation > ?2 AND \(condition)
                    ORDER BY o.installation LIMIT ?4
                    """,
                arguments: [message, after, reason, limit])
            return rows.map { row in
                KeptOutcome(
                    SendOutcome(
                        installation: row.integer(0), status: Int(clamping: row.integer(1)),
                        reason: row.optionalText(2), at: Timestamp(column: row.integer(3))),
                    installation: row.optionalText(4))
            }
        }
    }
}

/// Makes the SQL that finds recipients.
///
/// Tags are searched as text in the row itself. A table of tags would need several index searches for each
/// installation, which is slower.
private struct RecipientSearch {
    private let query: RecipientQuery
    private(set) var arguments: [(any DatabaseValueConvertible)?] = []

    init(_ query: RecipientQuery) { self.query = query }

    mutating func sql(_ columns: String) -> String {
        let audience = query.audience
        // If the audience names recipients, SQLite should find them by name, and not read all rows in the order of
        // their numbers. A plus sign before a column prevents SQLite from using its index.
        let plus = audience.installations != nil || audience.users != nil ? "+" : ""
        var conditions = ["i.app = ?", "i.ended IS NULL", "\(plus)i.number > ?", "\(plus)i.number <= ?"]
        arguments = [query.app, query.after, query.last]
        if let environment = query.environment { add("\(plus)i.environment = ?", environment.column) }
        if let environment = audience.environment { add("\(plus)i.environment = ?", environment.column) }
        if let zones = query.timeZones {
            add("CASE i.time_zone WHEN '' THEN 'GMT' ELSE i.time_zone END IN (SELECT value FROM json_each(?))", zones)
        }
        if let ids = audience.installations { add("i.id IN (SELECT value FROM json_each(?))", ids) }
        if let users = audience.users { add("i.user IN (SELECT value FROM json_each(?))", users) }
        if let language = audience.language {
            add("(i.language = ? OR substr(i.language, 1, ?) = ?)", language)
            arguments += [language.utf8.count + 1, language + "-"]
        }
        if let tags = audience.tags { conditions.append(condition(tags)) }
        if query.message != 0 {
            add("NOT EXISTS (SELECT 1 FROM outcome o WHERE o.message = ? AND o.installation = i.number)", query.message)
        }
        return "SELECT \(columns) FROM installation i WHERE " + conditions.joined(separator: " AND ")

        func add(_ condition: String, _ value: any DatabaseValueConvertible) {
            conditions.append(condition)
            arguments.append(value)
        }
        func add(_ condition: String, _ values: [String]) {
            add(condition, JSONValue.array(values.map(JSONValue.string)).text)
        }
    }

    /// The recursion is safe, because the parser limits the depth. A tag is always passed as an argument, never as SQL.
    private mutating func condition(_ expression: TagExpression) -> String {
        switch expression {
        case .tag(let tag):
            arguments.append(" \(tag) ")
            return "instr(i.tags, ?) > 0"
        case .not(let inner): return "NOT (\(condition(inner)))"
        case .and(let left, let right): return "(\(condition(left)) AND \(condition(right)))"
        case .or(let left, let right): return "(\(condition(left)) OR \(condition(right)))"
        }
    }
}

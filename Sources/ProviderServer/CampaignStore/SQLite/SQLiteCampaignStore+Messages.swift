import Foundation
import GRDB
package import Notifications
import SQLiteSupport
package import Storage

extension SQLiteCampaignStore {
    /// - Parameter document: the SQL that selects the document.
    private static func columns(_ document: String) -> String {
        """
        number, id, app, state, \(document), created, starts, finished, rate, cause, last, due, environment, after, \
        accepted
        """
    }

    private static func message(_ row: Row, _ database: Database) throws -> MessageRecord {
        var message = MessageRecord(
            number: row.integer(0), id: row.text(1), app: row.integer(2),
            state: MessageRecord.State(rawValue: row.text(3)) ?? .cancelled, document: Array(row.blob(4)),
            created: Timestamp(column: row.integer(5)), starts: Timestamp(column: row.integer(6)),
            rate: row.optionalInteger(8))
        message.finished = row.optionalInteger(7).map(Timestamp.init(column:))
        message.cause = row.optionalText(9)
        message.position.last = row.optionalInteger(10)
        message.position.due = Timestamp(column: row.integer(11))
        message.position.environment = Environment(column: row.integer(12)) ?? .production
        message.position.after = row.integer(13)
        message.tally.accepted = row.integer(14)
        let reasons = try Row.fetchCursor(
            database.cachedStatement(sql: "SELECT reason, count FROM tally WHERE message = ?"),
            arguments: [message.number])
        while let reason = try reasons.next() { message.tally.failed[reason.text(0)] = reason.integer(1) }
        return message
    }

    private static func messages(
        _ rest: String,
        _ arguments: StatementArguments,
        _ database: Database,
        document: String = "document",
    ) throws -> [MessageRecord] {
        try Row.fetchAll(database, sql: "SELECT \(columns(document)) FROM message \(rest)", arguments: arguments)
            .map { try message($0, database) }
    }

    package func add(
        _ message: MessageRecord,
        idempotency: IdempotencyKey?,
        limit: Int,
    ) async throws(StoreError) -> MessageRecord {
        try await write { database in
            if let idempotency, let known = try Self.message(message.app, idempotency, database) { return known }
            let open = try Int.fetchOne(
                database,
                sql: "SELECT count(*) FROM message WHERE state IN ('scheduled', 'running') AND app = ?",
                arguments: [message.app])
            guard (open ?? 0) < limit else { throw StoreError.tooManyMessages(limit) }
            try database.execute(
                sql: """
                    INSERT INTO message (
                        id, app, state, document, created, starts, rate, last, due, environment, after, accepted,
                        idempotency_key, idempotency_digest
                    ) VALUES (?, ?, ?, ?, ?, ?, ?, NULL, 0, ?, 0, 0, ?, ?)
                    """,
                arguments: [
                    message.id, message.app, message.state.rawValue, Data(message.document), message.created.column,
                    message.starts.column, message.rate, message.position.environment.column, idempotency?.name,
                    idempotency.map { Data($0.digest) },
                ])
            var stored = message
            stored.number = database.lastInsertedRowID
            return stored
        }
    }

    private static func message(
        _ app: Int64,
        _ idempotency: IdempotencyKey,
        _ database: Database,
    ) throws -> MessageRecord? {
        let row = try Row.fetchOne(
            database, sql: "SELECT id, idempotency_digest FROM message WHERE app = ? AND idempotency_key = ?",
            arguments: [app, idempotency.name])
        guard let row else { return nil }
        guard Array(row.blob(1)) == idempotency.digest else { throw StoreError.otherRequest }
        return try messages("WHERE id = ?", [row.text(0)], database).first
    }

    package func message(app: Int64, idempotency: IdempotencyKey) async throws(StoreError) -> MessageRecord? {
        try await read { try Self.message(app, idempotency, $0) }
    }

    package func deleteMessage(_ number: Int64) async throws(StoreError) {
        let isOver = try await read { database in
            try Bool.fetchOne(
                database, sql: "SELECT state IN ('finished', 'cancelled') FROM message WHERE number = ?",
                arguments: [number])
        }
        guard isOver ?? true else { throw StoreError.notOver }
        try await deleteOutcomes(of: number)
        try await write { database in
            try database.execute(sql: "DELETE FROM message WHERE number = ?", arguments: [number])
        }
    }

    package func endedMessages(before: Timestamp, limit: Int) async throws(StoreError) -> [Int64] {
        try await read { database in
            try Int64.fetchAll(
                database,
                sql: """
                    SELECT number FROM message
                    WHERE state IN ('finished', 'cancelled') AND coalesce(finished, starts) < ? ORDER BY number LIMIT ?
                    """, arguments: [before.column, limit])
        }
    }

    package func message(_ id: String) async throws(StoreError) -> MessageRecord? {
        try await read { try Self.messages("WHERE id = ?", [id], $0).first }
    }

    package func messages(
        app: Int64?,
        before: Int64?,
        limit: Int,
    ) async throws(StoreError) -> [MessageRecord] {
        try await read { database in
            try Self.messages(
                "WHERE (?1 IS NULL OR app = ?1) AND number < ?2 ORDER BY number DESC LIMIT ?3",
                [app, before ?? .max, limit], database)
        }
    }

    package func openMessages() async throws(StoreError) -> [MessageRecord] {
        try await read {
            try Self.messages("WHERE state IN ('scheduled', 'running') ORDER BY number", [], $0, document: "x''")
        }
    }

    /// Nobody else uses the store, so this only reads whether the message is open.
    package func hold(_ message: Int64, for time: Duration) async throws(StoreError) -> MessageHold? {
        try await read { database in
            let row = try Row.fetchOne(
                database, sql: "SELECT rate FROM message WHERE number = ? AND state IN ('scheduled', 'running')",
                arguments: [message])
            return row.map { MessageHold(rate: $0.optionalInteger(0)) }
        }
    }

    package func release(_ message: Int64) async throws(StoreError) {}

    package func changeMessage(
        _ id: String,
        _ change: @escaping @Sendable (inout MessageRecord) throws -> ProviderEvent?,
    ) async throws -> MessageRecord? {
        try await commit { [now, waitingDeliveries] database in
            guard var message = try Self.messages("WHERE id = ?", [id], database).first else { return nil }
            let event = try change(&message)
            try database.execute(
                sql: """
                    UPDATE message SET state = ?, finished = ?, rate = ?, cause = ?, last = ?, due = ?, environment = ?,
                        after = ?
                    WHERE number = ?
                    """,
                arguments: [
                    message.state.rawValue, message.finished?.column, message.rate, message.cause,
                    message.position.last, message.position.due.column, message.position.environment.column,
                    message.position.after, message.number,
                ])
            if let event { try Self.add(event, app: message.app, at: now(), limit: waitingDeliveries, database) }
            return message
        }
    }
}

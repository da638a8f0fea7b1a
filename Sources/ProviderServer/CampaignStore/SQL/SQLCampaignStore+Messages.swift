import Foundation
package import Notifications
import SQLSupport
package import Storage

extension SQLCampaignStore {
    /// Whether a message is ``MessageRecord/State/isOpen``, in the words of the index of open messages.
    private static var isOpen: SQLStatement { "state IN ('scheduled', 'running')" }

    /// Selects messages.
    /// - Parameter rest: the statement after the table `message m`.
    private func selecting(_ rest: SQLStatement, withDocuments: Bool = true) -> SQLStatement {
        let failed = SQLStatement.either(
            sqlite: "json_group_object(reason, count)", postgresql: "json_object_agg(reason, count)::text")
        let columns = MessageRecord.table.columns(
            of: "m", replacing: withDocuments ? nil : (name: "document", by: .noBytes))
        return """
            SELECT \(columns), m.idempotency_digest, (SELECT \(failed) FROM tally WHERE message = m.number)
            FROM message m \(rest)
            """
    }

    private func message(_ row: any SQLRow) throws -> (message: MessageRecord, digest: [UInt8]?) {
        let table = MessageRecord.table
        var message = try table.row(row)
        if let failed = row.bytes(table.count + 1) {
            message.tally.failed = try JSONValue.decode(failed)
        }
        return (message, row.bytes(table.count))
    }

    private func selecting(app: Int64, _ idempotency: IdempotencyKey) -> SQLStatement {
        selecting("WHERE m.app = \(app) AND m.idempotency_key = \(idempotency.name)")
    }

    private func message(_ row: any SQLRow, _ idempotency: IdempotencyKey) throws -> MessageRecord {
        let (message, digest) = try message(row)
        guard idempotency.matches(digest: digest) else { throw StoreError.otherRequest }
        return message
    }

    package func add(
        _ message: MessageRecord,
        idempotency: IdempotencyKey?,
        limit: Int,
    ) async throws(StoreError) -> MessageRecord {
        let table = MessageRecord.table
        return try await database.write { transaction in
            try lock(app: message.app, transaction)
            if let idempotency,
                let known = try transaction.rows(
                    selecting(app: message.app, idempotency), { try self.message($0, idempotency) }
                ).first
            {
                return known
            }
            let open = try transaction.number(
                "SELECT count(*) FROM message WHERE \(Self.isOpen) AND app = \(message.app)")
            guard open ?? 0 < Int64(limit) else { throw StoreError.tooManyMessages(limit) }  // fits: a limit of ours
            let number = try transaction.number(
                """
                INSERT INTO message (\(table.list), idempotency_key, idempotency_digest)
                VALUES (\(table.values(message)), \(idempotency?.name), \(idempotency?.digest)) RETURNING number
                """)
            var stored = message
            stored.number = number ?? 0
            return stored
        }
    }

    package func message(app: Int64, idempotency: IdempotencyKey) async throws(StoreError) -> MessageRecord? {
        try await database.read(selecting(app: app, idempotency)) { try message($0, idempotency) }.first
    }

    package func message(_ id: String) async throws(StoreError) -> MessageRecord? {
        try await database.read(selecting("WHERE m.id = \(id)")) { try message($0).message }.first
    }

    package func messages(app: Int64?, before: Int64?, limit: Int) async throws(StoreError) -> [MessageRecord] {
        let ofApp: SQLStatement = app.map { "m.app = \($0) AND" } ?? ""
        return try await database.read(
            selecting("WHERE \(ofApp) m.number < \(before ?? .max) ORDER BY m.number DESC LIMIT \(max(0, limit))")
        ) { try message($0).message }
    }

    package func openMessages() async throws(StoreError) -> [MessageRecord] {
        try await database.read(
            selecting(
                "WHERE m.\(Self.isOpen)\(isFree) ORDER BY m.number", withDocuments: false)
        ) { try message($0).message }
    }

    package func changeMessage(
        _ id: String,
        _ change: @escaping @Sendable (inout MessageRecord) throws -> ProviderEvent?,
    ) async throws -> MessageRecord? {
        try await database.transact { transaction in
            let known = try transaction.rows(selecting("WHERE m.id = \(id) \(.forUpdate)")) { try message($0).message }
            guard var message = known.first else { return nil }
            let event = try change(&message)
            // The document may have megabytes, and never changes.
            let changes = try MessageRecord.table.assignments(message, except: ["document"])
            try transaction.run("UPDATE message SET \(changes) WHERE number = \(message.number)")
            if let event { try add(event, app: message.app, transaction) }
            return message
        }
    }

    package func deleteMessage(_ number: Int64) async throws(StoreError) {
        // A server that still stores the last outcomes of a message holds it.
        let isHeld: SQLStatement = isShared ? "OR held_until > clock_timestamp()" : ""
        let open = try await database.read(
            """
            SELECT 1 FROM message WHERE number = \(number) AND (state NOT IN ('finished', 'cancelled') \(isHeld))
            """
        ) { _ in true }
        guard open.isEmpty else { throw StoreError.notOver }
        let outcomes: @Sendable (Int) -> SQLStatement = { limit in
            """
            DELETE FROM outcome WHERE message = \(number)
                AND installation IN (SELECT installation FROM outcome WHERE message = \(number) LIMIT \(limit))
            """
        }
        try await deleteInSteps(outcomes)
        let isThis: SQLStatement = "number = \(number)"
        try await delete("DELETE FROM message WHERE \(isThis)", after: outcomes, ofMessages: isThis)
    }

    package func endedMessages(before: Timestamp, limit: Int) async throws(StoreError) -> [Int64] {
        try await database.read(
            """
            SELECT number FROM message WHERE state IN ('finished', 'cancelled')
                AND coalesce(finished, starts) < \(before.column) ORDER BY number LIMIT \(max(0, limit))
            """
        ) { $0.integer(0) ?? 0 }
    }

    package func hold(_ message: Int64, for time: Duration) async throws(StoreError) -> MessageHold? {
        let isOpen: SQLStatement = "number = \(message) AND \(Self.isOpen)"
        guard let identity else {
            return try await database.read("SELECT rate FROM message WHERE \(isOpen)") {
                MessageHold(rate: $0.integer(0))
            }.first
        }
        return try await database.write { transaction in
            try transaction.rows(
                "UPDATE message SET \(held(for: time, by: identity)) WHERE \(isOpen)\(isFree) RETURNING rate"
            ) { MessageHold(rate: $0.integer(0)) }.first
        }
    }

    package func release(_ message: Int64) async throws(StoreError) {
        guard let identity else { return }
        try await database.write([
            "UPDATE message SET holder = NULL, held_until = NULL WHERE number = \(message) AND holder = \(identity)"
        ])
    }
}

package import CampaignStore
import Foundation
import Notifications
import PostgresClient
import PostgresSupport
package import Storage

extension PostgresCampaignStore {
    /// - Parameter document: the SQL that selects the document.
    private static func columns(_ document: String) -> String {
        """
        m.number, m.id, m.app, m.state, \(document), m.created, m.starts, m.finished, m.rate, m.cause, m.last, m.due, \
        m.environment, m.after, m.accepted, \
        (SELECT json_object_agg(reason, count)::text FROM carillon_provider.tally WHERE message = m.number)
        """
    }

    private static func message(_ row: PostgresRow) throws(PostgresError) -> MessageRecord {
        var message = MessageRecord(
            number: row.number(0), id: row.line(1), app: row.number(2),
            state: MessageRecord.State(rawValue: row.line(3)) ?? .cancelled, document: row.bytes(4) ?? [],
            created: Timestamp(column: row.number(5)), starts: Timestamp(column: row.number(6)), rate: row.integer(8))
        message.finished = row.moment(7)
        message.cause = row.text(9)
        message.position.last = row.integer(10)
        message.position.due = Timestamp(column: row.number(11))
        message.position.environment = Environment(column: row.number(12)) ?? .production
        message.position.after = row.number(13)
        message.tally.accepted = row.number(14)
        if let tally = row.bytes(15) {
            do {
                message.tally.failed = try JSONDecoder().decode([String: Int64].self, from: Data(tally))
            } catch {
                throw .damaged("a message")
            }
        }
        return message
    }

    private static func selecting(
        _ rest: String,
        _ values: [PostgresValue],
        document: String = "m.document",
    ) -> PostgresStatement {
        PostgresStatement(assembled: "SELECT \(columns(document)) FROM carillon_provider.message m \(rest)", values)
    }

    private func messages(
        _ rest: String,
        _ values: [PostgresValue],
        document: String = "m.document",
    ) async throws(StoreError) -> [MessageRecord] {
        let rows = try await read(Self.selecting(rest, values, document: document))
        do throws(PostgresError) {
            return try rows.map { row throws(PostgresError) in try Self.message(row) }
        } catch {
            throw error.storeError
        }
    }

    package func add(
        _ message: MessageRecord,
        idempotency: IdempotencyKey?,
        limit: Int,
    ) async throws(StoreError) -> MessageRecord {
        let result = try await transact { transaction throws(PostgresError) -> Result<MessageRecord, StoreError> in
            // The app's row is the lock: two requests at the same time must not exceed the limit.
            try transaction.execute(
                "SELECT 1 FROM carillon_provider.app WHERE number = $1 FOR NO KEY UPDATE", [.integer(message.app)])
            if let idempotency,
                let known = try transaction.execute(Self.selecting(idempotency, app: message.app)).first
            {
                return try Self.message(known, idempotency)
            }
            let open = try transaction.execute(
                """
                SELECT count(*) FROM carillon_provider.message
                WHERE state IN ('scheduled', 'running') AND app = $1
                """, [.integer(message.app)]
            ).first?.integer(0)
            guard (open ?? 0) < Int64(limit) else { return .failure(.tooManyMessages(limit)) }
            let added = try transaction.execute(
                """
                INSERT INTO carillon_provider.message (
                    id, app, state, document, created, starts, rate, environment, idempotency_key, idempotency_digest
                ) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING number
                """,
                [
                    .text(message.id), .integer(message.app), .text(message.state.rawValue), .bytes(message.document),
                    .moment(message.created), .moment(message.starts), .integer(message.rate),
                    .integer(message.position.environment.column), .line(idempotency?.name),
                    .bytes(idempotency?.digest),
                ]
            ).first?.integer(0)
            var stored = message
            stored.number = added ?? 0
            return .success(stored)
        }
        return try result.get()
    }

    /// Selects the message of an idempotency key, and after its columns the digest of its request.
    private static func selecting(_ idempotency: IdempotencyKey, app: Int64) -> PostgresStatement {
        PostgresStatement(
            assembled: """
                SELECT \(columns("m.document")), m.idempotency_digest FROM carillon_provider.message m
                WHERE m.app = $1 AND m.idempotency_key = $2
                """, [.integer(app), .line(idempotency.name)])
    }

    private static func message(
        _ row: PostgresRow,
        _ idempotency: IdempotencyKey,
    ) throws(PostgresError) -> Result<MessageRecord, StoreError> {
        row.bytes(16) == idempotency.digest ? .success(try message(row)) : .failure(.otherRequest)
    }

    package func message(app: Int64, idempotency: IdempotencyKey) async throws(StoreError) -> MessageRecord? {
        guard let row = try await read(Self.selecting(idempotency, app: app)).first else { return nil }
        let result: Result<MessageRecord, StoreError>
        do throws(PostgresError) {
            result = try Self.message(row, idempotency)
        } catch {
            throw error.storeError
        }
        return try result.get()
    }

    package func message(_ id: String) async throws(StoreError) -> MessageRecord? {
        try await messages("WHERE m.id = $1", [.line(id)]).first
    }

    package func messages(app: Int64?, before: Int64?, limit: Int) async throws(StoreError) -> [MessageRecord] {
        try await messages(
            "WHERE ($1 IS NULL OR m.app = $1) AND m.number < $2 ORDER BY m.number DESC LIMIT $3",
            [.integer(app), .integer(before ?? .max), .integer(Int64(max(0, limit)))])
    }

    /// Returns the messages that no other server has.
    package func openMessages() async throws(StoreError) -> [MessageRecord] {
        try await messages(
            """
            WHERE m.state IN ('scheduled', 'running')
                AND (m.holder IS NULL OR m.holder = $1 OR m.held_until <= clock_timestamp())
            ORDER BY m.number
            """, [.bytes(configuration.identity)], document: "''::bytea")
    }

    package func changeMessage(
        _ id: String,
        _ change: @escaping @Sendable (inout MessageRecord) throws -> ProviderEvent?,
    ) async throws -> MessageRecord? {
        let (now, limit) = (configuration.now, configuration.waitingDeliveries)
        let result = try await transact { transaction throws(PostgresError) -> Result<MessageRecord?, any Error> in
            let known = try transaction.execute(Self.selecting("WHERE m.id = $1 FOR UPDATE OF m", [.line(id)])).first
            guard var message = try known.map({ row throws(PostgresError) in try Self.message(row) }) else {
                return .success(nil)
            }
            let event: ProviderEvent?
            do {
                event = try change(&message)
            } catch {
                return .failure(error)
            }
            try transaction.execute(
                """
                UPDATE carillon_provider.message SET state = $2, finished = $3, rate = $4, cause = $5, last = $6, due = $7,
                    environment = $8, after = $9
                WHERE number = $1
                """,
                [
                    .integer(message.number), .text(message.state.rawValue), .moment(message.finished),
                    .integer(message.rate), .line(message.cause), .integer(message.position.last),
                    .moment(message.position.due), .integer(message.position.environment.column),
                    .integer(message.position.after),
                ])
            if let event { try Self.add(event, app: message.app, at: now(), limit: limit, transaction) }
            return .success(message)
        }
        return try result.get()
    }

    // MARK: Holding

    package func hold(_ message: Int64, for time: Duration) async throws(StoreError) -> MessageHold? {
        let answers = try await write([
            PostgresStatement(
                """
                UPDATE carillon_provider.message
                SET holder = $2, held_until = clock_timestamp() + $3 * interval '1 millisecond'
                WHERE number = $1 AND state IN ('scheduled', 'running')
                    AND (holder IS NULL OR holder = $2 OR held_until <= clock_timestamp())
                RETURNING rate
                """,
                [.integer(message), .bytes(configuration.identity), .integer(time.milliseconds)])
        ])
        return answers.first?.first.map { MessageHold(rate: $0.integer(0)) }
    }

    package func release(_ message: Int64) async throws(StoreError) {
        try await write([
            PostgresStatement(
                "UPDATE carillon_provider.message SET holder = NULL, held_until = NULL WHERE number = $1 AND holder = $2",
                [.integer(message), .bytes(configuration.identity)])
        ])
    }
}

extension Duration {
    /// Whole milliseconds.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return Int64(clamping: Int128(seconds) * 1000 + Int128(attoseconds / 1_000_000_000_000_000))
    }
}

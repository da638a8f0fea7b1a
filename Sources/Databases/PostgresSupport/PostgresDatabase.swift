package import PostgresClient
package import SQLSupport
package import Storage
import Synchronization

/// A PostgreSQL database, with connections for changes and others for reading.
package final class PostgresDatabase: SQLDatabase {
    private let writers: [PostgresConnection]
    private let readers: [PostgresConnection]
    private let next = Atomic<Int>(0)

    package init(writers: [PostgresConnection], readers: [PostgresConnection]) {
        self.writers = writers
        self.readers = readers
    }

    private func one(of connections: [PostgresConnection]) -> PostgresConnection {
        let number = next.wrappingAdd(1, ordering: .relaxed).newValue
        // fits: less than the number of connections
        return connections[Int(number.magnitude % UInt(connections.count))]
    }

    package func read<Value: Sendable>(
        _ statement: SQLStatement,
        _ value: @escaping @Sendable (any SQLRow) throws -> Value,
    ) async throws(StoreError) -> [Value] {
        let rows: PostgresRows?
        do throws(PostgresError) {
            rows = try await one(of: readers).execute([PostgresStatement(from: statement)]).first
        } catch {
            // No statement wanted to change anything, so it is certain that nothing was changed.
            throw error.withoutChange.storeError
        }
        guard let rows else {
            throw PostgresError(.unexpectedAnswer, "The server did not answer a statement.").storeError
        }
        do {
            return try rows.map(value)
        } catch {
            throw error as? StoreError ?? PostgresError.damaged("a value").storeError
        }
    }

    package func write(_ statements: [SQLStatement]) async throws(StoreError) -> [Int] {
        let statements = statements.map(PostgresStatement.init(from:))
        return try await repeating { connection throws(PostgresError) in
            try await connection.execute(statements).map(\.affected)
        }
    }

    package func transact<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLTransaction) throws -> Value,
    ) async throws -> Value {
        let refusal = Refusal()
        do {
            return try await repeating { connection throws(PostgresError) in
                try await connection.transaction { transaction throws(PostgresError) in
                    do {
                        return try body(SQLTransactionOnPostgres(transaction: transaction))
                    } catch let error as PostgresError {
                        throw error
                    } catch is TransactionConflict {
                        throw PostgresError(.conflict, "Another request has changed the same row.")
                    } catch {
                        // An error of the connection makes it roll the transaction back.
                        refusal.error.withLock { $0 = error }
                        throw PostgresError(.other, "The change was refused.")
                    }
                }
            }
        } catch {
            throw refusal.error.withLock { $0 } ?? error
        }
    }

    /// The error of a transaction's body.
    private final class Refusal: Sendable {
        let error = Mutex<(any Error)?>(nil)
    }

    /// The largest number of attempts to execute a transaction that PostgreSQL rolls back because of others.
    private static let attempts = 5

    /// Executes a transaction again if the database rolled it back because of another one: they waited for each other, or
    /// both added the same row. In the second attempt the row is there.
    private func repeating<Value: Sendable>(
        _ body: (PostgresConnection) async throws(PostgresError) -> Value,
    ) async throws(StoreError) -> Value {
        var failures = 0
        while true {
            do throws(PostgresError) {
                return try await body(one(of: writers))
            } catch {
                failures += 1
                guard error.kind == .conflict || error.kind == .uniqueViolation, failures < Self.attempts else {
                    throw error.storeError
                }
            }
        }
    }

    package func trouble() async -> StoreError? {
        do throws(PostgresError) {
            let rows = try await one(of: writers).execute("SELECT current_setting('transaction_read_only')")
            return rows.first?.text(0) == "on" ? PostgresError(.readOnly, "").storeError : nil
        } catch {
            return error.withoutChange.storeError
        }
    }

    package func close() async {
        for connection in writers + readers { await connection.close() }
    }
}

/// Executes the statements of both databases in a transaction of PostgreSQL.
struct SQLTransactionOnPostgres: SQLTransaction {
    private let transaction: PostgresTransaction

    init(transaction: PostgresTransaction) { self.transaction = transaction }

    func rows<Value>(_ statement: SQLStatement, _ value: (any SQLRow) throws -> Value) throws -> [Value] {
        try transaction.execute(PostgresStatement(from: statement)).map(value)
    }

    @discardableResult
    func run(_ statement: SQLStatement) throws -> Int {
        try transaction.execute(PostgresStatement(from: statement)).affected
    }
}

extension PostgresTransaction {
    /// Executes the statements of both databases, with a typed error.
    package func sql<Value>(_ body: (any SQLTransaction) throws -> Value) throws(PostgresError) -> Value {
        do {
            return try body(SQLTransactionOnPostgres(transaction: self))
        } catch let error as PostgresError {
            throw error
        } catch {
            throw .damaged("a row")
        }
    }
}

extension PostgresRow: SQLRow {}

extension PostgresStatement {
    package init(from statement: SQLStatement) {
        let (sql, values) = statement.postgresql(
            value: PostgresValue.init, texts: { .texts($0.map(SQLValue.withoutNUL)) }, column: PostgresValue.init)
        if statement.isPrepared { self.init(assembled: sql, values) } else { self.init(once: sql, values) }
    }
}

extension PostgresValue {
    fileprivate init(_ value: SQLValue) {
        self =
            switch value {
            case .integer(let value): .integer(value)
            case .text(let value): .text(value.map(SQLValue.withoutNUL))
            case .bytes(let value): .bytes(value)
            case .bool(let value): .bool(value)
            case .anyText(let value): .bytes(Array(value.utf8))
            }
    }

    /// The values of a column as an array.
    fileprivate init(_ type: SQLType, _ values: [SQLValue]) {
        let values = values.map(PostgresValue.init)
        switch type {
        case .integer: self = .integers(values.map { if case .integer(let value) = $0 { value } else { nil } })
        case .text: self = .texts(values.map { if case .text(let value) = $0 { value } else { nil } })
        case .bytes: self = .byteArrays(values.map { if case .bytes(let value) = $0 { value } else { nil } })
        // PostgreSQL converts the words.
        case .bool: self = .texts(values.map { $0 == .bool(true) ? "true" : "false" })
        }
    }
}

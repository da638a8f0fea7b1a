import AccountTables
import Delivery
import SQLiteSupport
package import SQLSupport
package import Storage

extension SQLiteStore: SQLStore {
    package func read<Value: Sendable>(
        _ statement: SQLStatement,
        _ value: @escaping @Sendable (any SQLRow) throws(StoreError) -> Value,
    ) async throws(StoreError) -> [Value] {
        try await read { database throws(SQLiteFailure) in try database.sql { try $0.rows(statement, value) } }
    }

    package func change(_ statements: [SQLStatement]) async throws(StoreError) -> [Int] {
        try await transact { transaction in try statements.map { try transaction.run($0) } }
    }

    package func change<Value: Sendable>(
        _ statement: SQLStatement,
        isLasting: Bool,
        _ value: @escaping @Sendable (any SQLRow) throws(StoreError) -> Value,
    ) async throws(StoreError) -> [Value] {
        try await transact(isLasting: isLasting) { try $0.rows(statement, value) }
    }

    private func transact<Value: Sendable>(
        isLasting: Bool = false,
        _ body: @escaping @Sendable (any SQLTransaction) throws -> Value,
    ) async throws(StoreError) -> Value {
        try await commits.write(isLasting: isLasting, undoable: true) { database, _ throws(SQLiteFailure) in
            try database.sql(body)
        } committed: {
            $0
        }.get()
    }
}

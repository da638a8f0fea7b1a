import AccountTables
import Delivery
import PostgresClient
import PostgresSupport
package import SQLSupport
package import Storage

extension PostgresStore: SQLStore {
    package func read<Value: Sendable>(
        _ statement: SQLStatement,
        _ value: @escaping @Sendable (any SQLRow) throws(StoreError) -> Value,
    ) async throws(StoreError) -> [Value] {
        try await read(PostgresStatement(from: statement)).map(value)
    }

    package func change(_ statements: [SQLStatement]) async throws(StoreError) -> [Int] {
        guard !statements.isEmpty else { return [] }
        return try await Self.execute(statements.map(PostgresStatement.init(from:)), on: writers[0]).map(\.affected)
    }

    package func changePromptly(_ statements: [SQLStatement]) async throws(StoreError) -> [Int] {
        try await executePromptly(statements.map(PostgresStatement.init(from:)), on: writers[0]).map(\.affected)
    }

    package func change<Value: Sendable>(
        _ statement: SQLStatement,
        isLasting: Bool,
        _ value: @escaping @Sendable (any SQLRow) throws(StoreError) -> Value,
    ) async throws(StoreError) -> [Value] {
        try await Self.execute([PostgresStatement(from: statement)], on: writers[0]).first?.map(value) ?? []
    }
}

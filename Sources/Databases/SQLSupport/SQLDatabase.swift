package import Storage

/// A database on which a store works. The statements are the store's; this carries them out.
package protocol SQLDatabase: Sendable {
    /// Reads rows outside of a transaction. All are of one moment.
    func read<Value: Sendable>(
        _ statement: SQLStatement,
        _ value: @escaping @Sendable (any SQLRow) throws -> Value,
    ) async throws(StoreError) -> [Value]

    /// Executes statements in one transaction.
    /// - Returns: How many rows each has changed.
    @discardableResult
    func write(_ statements: [SQLStatement]) async throws(StoreError) -> [Int]

    /// Runs a transaction whose statements depend on each other's answers. It may run more than once. If `body` throws, its
    /// changes are undone.
    /// - Throws: an error of `body` as it is, and a ``StoreError`` if the database fails.
    func transact<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLTransaction) throws -> Value,
    ) async throws -> Value

    /// Returns why the database cannot be used; nil if it can.
    func trouble() async -> StoreError?
    func close() async
}

/// A transaction. It may only be used while its body runs.
package protocol SQLTransaction {
    /// Executes a statement, and reads the rows that it returns.
    func rows<Value>(_ statement: SQLStatement, _ value: (any SQLRow) throws -> Value) throws -> [Value]

    /// Executes a statement.
    /// - Returns: How many rows it has changed.
    @discardableResult
    func run(_ statement: SQLStatement) throws -> Int
}

extension SQLDatabase {
    /// Runs a transaction like ``transact(_:)``. Its body throws no errors of its own but ``StoreError``.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLTransaction) throws -> Value,
    ) async throws(StoreError) -> Value {
        do {
            return try await transact(body)
        } catch {
            throw error as? StoreError ?? StoreError(.unavailable, "A value cannot be stored: \(error)")
        }
    }

    package func write(_ statement: SQLStatement) async throws(StoreError) -> Int {
        try await write([statement]).first ?? 0
    }
}

extension SQLTransaction {
    /// The number that a statement returns; nil if it returns no row or NULL.
    package func number(_ statement: SQLStatement) throws -> Int64? {
        try rows(statement) { $0.integer(0) }.first ?? nil
    }
}

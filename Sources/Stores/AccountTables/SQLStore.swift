package import Delivery
package import SQLSupport
package import Storage

/// A store in one of the two databases. The extensions of this protocol have what is the same in both.
package protocol SQLStore: Invitations, HeldPushes, ClearHeldPushes {
    /// Reads rows outside of a transaction.
    func read<Value: Sendable>(
        _ statement: SQLStatement,
        _ value: @escaping @Sendable (any SQLRow) throws(StoreError) -> Value,
    ) async throws(StoreError) -> [Value]

    /// Executes statements in one transaction.
    /// - Returns: how many rows each has changed.
    @discardableResult
    func change(_ statements: [SQLStatement]) async throws(StoreError) -> [Int]

    /// Executes statements in one transaction, unless they reach a shared database so late that other nodes may have done
    /// something newer meanwhile. Then nothing is changed.
    func changePromptly(_ statements: [SQLStatement]) async throws(StoreError) -> [Int]

    /// Executes a statement, and reads the rows that it returns.
    /// - Parameter isLasting: whether the change survives a damaged write-ahead log.
    func change<Value: Sendable>(
        _ statement: SQLStatement,
        isLasting: Bool,
        _ value: @escaping @Sendable (any SQLRow) throws(StoreError) -> Value,
    ) async throws(StoreError) -> [Value]
}

extension SQLStore {
    package func changePromptly(_ statements: [SQLStatement]) async throws(StoreError) -> [Int] {
        try await change(statements)
    }
}

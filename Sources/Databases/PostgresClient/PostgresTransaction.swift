/// A transaction whose statements depend on each other's answers. It exists only on the connection's thread.
package struct PostgresTransaction {
    private let session: PostgresSession

    init(_ session: PostgresSession) { self.session = session }

    /// Executes a statement and waits for the answer.
    @discardableResult
    package func execute(_ sql: StaticString, _ values: [PostgresValue] = []) throws(PostgresError) -> PostgresRows {
        try execute(PostgresStatement(sql, values))
    }

    /// - Parameter timeLimit: how long the server may take; nil for the connection's limit.
    @discardableResult
    package func execute(
        _ statement: PostgresStatement,
        within timeLimit: Duration? = nil,
    ) throws(PostgresError) -> PostgresRows {
        let results = session.exchange([[statement]], within: timeLimit)
        guard let rows = try results.first?.get().first else {
            throw PostgresError(.unexpectedAnswer, "The server did not answer a statement.")
        }
        return rows
    }
}

package import Notifications
package import SQLSupport
package import Storage

/// The store of the provider server on a database that understands SQL. The statements are the same for all databases.
package protocol SQLCampaignStore: CampaignStore {
    var database: any SQLDatabase { get }
    /// Random bytes that name this server to the others; nil if no other server can use the store. Without others, the
    /// tables have no columns for the server that holds a row.
    var identity: [UInt8]? { get }
    var now: @Sendable () -> Timestamp { get }
    /// How many deliveries of a hook may wait.
    var waitingDeliveries: Int64 { get }
}

extension SQLCampaignStore {
    package var isShared: Bool { identity != nil }

    package func trouble() async -> StoreError? { await database.trouble() }
    package func close() async { await database.close() }

    /// No other server holds the row. Begins with AND.
    var isFree: SQLStatement {
        guard let identity else { return "" }
        return " AND (holder IS NULL OR holder = \(identity) OR held_until <= clock_timestamp())"
    }

    /// Holds the row for a time.
    func held(for time: Duration, by identity: [UInt8]) -> SQLStatement {
        let (seconds, attoseconds) = time.components
        let milliseconds = Int64(clamping: Int128(seconds) * 1000 + Int128(attoseconds / 1_000_000_000_000_000))
        return """
            holder = \(identity), held_until = clock_timestamp() + \(milliseconds) * interval '1 millisecond'
            """
    }

    /// Nobody holds the row any more. Begins with a comma.
    var released: SQLStatement { identity == nil ? "" : ", holder = NULL, held_until = NULL" }

    /// Locks the app until the transaction ends, so that two requests at the same time do not exceed a limit together.
    func lock(app: Int64, _ transaction: any SQLTransaction) throws {
        _ = try transaction.number("SELECT 1 FROM app WHERE number = \(app) \(.forUpdate)")
    }

    /// The largest number of rows that one transaction deletes. Requests that register installations wait for it, and a
    /// statement has a time limit.
    private static var deletedTogether: Int { 20_000 }

    /// Deletes rows until there are no more.
    /// - Parameter statement: deletes some of the rows, up to a limit.
    func deleteInSteps(_ statement: (_ limit: Int) -> SQLStatement) async throws(StoreError) {
        while try await database.write(statement(Self.deletedTogether)) > 0 {}
    }

    /// Deletes messages, or what they belong to, in one transaction with the outcomes that another server has stored
    /// since ``deleteInSteps(_:)``. The messages' rows are the locks for their outcomes.
    /// - Parameters:
    ///   - last: deletes the messages.
    ///   - outcomes: deletes some of their outcomes, up to a limit.
    ///   - messages: the condition for the messages.
    func delete(
        _ last: SQLStatement,
        after outcomes: @escaping @Sendable (_ limit: Int) -> SQLStatement,
        ofMessages messages: SQLStatement,
    ) async throws(StoreError) {
        try await database.write { transaction in
            _ = try transaction.number("SELECT 1 FROM message WHERE \(messages) ORDER BY number \(.forUpdate)")
            while try transaction.run(outcomes(Self.deletedTogether)) > 0 {}
            try transaction.run(last)
        }
    }
}

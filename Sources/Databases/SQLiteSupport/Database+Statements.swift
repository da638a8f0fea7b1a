package import GRDB

/// GRDB's calls with typed errors.
///
/// Each call takes its statement from the connection's cache. A statement that failed cannot be run again, and GRDB
/// removes it from the cache. So callers must not keep statements.
extension Database {
    /// Runs a statement that returns no rows.
    ///
    /// - Parameter arguments: the values of its parameters. GRDB passes a `String` as a C string, which ends at the
    ///   first NUL character. Pass text that may contain one as `Data`, with a CAST in the SQL.
    /// - Returns: The number of changed rows.
    @discardableResult
    package func run(_ sql: String, _ arguments: StatementArguments) throws(SQLiteFailure) -> Int {
        try perform { database in
            try database.cachedStatement(sql: sql).execute(arguments: arguments)
            return database.changesCount
        }
    }

    /// Calls `body` with each row of a statement. The row is valid during the call only.
    package func forEachRow(
        _ sql: String,
        _ arguments: StatementArguments = [],
        _ body: (Row) throws(SQLiteFailure) -> Void,
    ) throws(SQLiteFailure) {
        try perform { database in
            let rows = try Row.fetchCursor(database.cachedStatement(sql: sql), arguments: arguments)
            while let row = try rows.next() { try body(row) }
        }
    }

    /// Returns the results of `body` for all rows of a statement.
    package func rows<Value>(
        _ sql: String,
        _ arguments: StatementArguments = [],
        _ body: (Row) throws(SQLiteFailure) -> Value,
    ) throws(SQLiteFailure) -> [Value] {
        var values: [Value] = []
        try forEachRow(sql, arguments) { row throws(SQLiteFailure) in values.append(try body(row)) }
        return values
    }

    /// Returns the result of `body` for the first row of a statement; nil if there is no row.
    package func firstRow<Value>(
        _ sql: String,
        _ arguments: StatementArguments = [],
        _ body: (Row) throws(SQLiteFailure) -> Value,
    ) throws(SQLiteFailure) -> Value? {
        try perform { database in
            let rows = try Row.fetchCursor(database.cachedStatement(sql: sql), arguments: arguments)
            // The row is invalid once the cursor is released.
            return try withExtendedLifetime(rows) { try rows.next().map(body) }
        }
    }

    /// Calls GRDB, and turns its untyped errors into ``SQLiteFailure``.
    package func perform<Value>(_ body: (Database) throws -> Value) throws(SQLiteFailure) -> Value {
        do {
            return try body(self)
        } catch {
            throw SQLiteFailure(error)
        }
    }
}

import GRDB
import SQLiteSupport

import struct Foundation.Data

/// A prepared statement whose values are bound one after the other. It is for the few statements that run for every
/// push.
///
/// GRDB's usual way makes several arrays of the values and a closure for each value. For thirteen values this costs
/// more than SQLite's own work. This type uses only GRDB's public API, and leaves every call of SQLite to GRDB: values
/// bind themselves (`StatementBinding`), and columns read themselves (`StatementColumnConvertible`). The pointer that
/// both need comes from GRDB.
///
/// A statement that failed cannot be run again. GRDB removes it from the connection's cache, and the next statement is
/// taken from there.
struct BoundStatement {
    private let statement: Statement
    private let steps: Steps

    /// - Parameter sql: a statement that is used nowhere else, because it stays in the connection's cache together
    ///   with the values bound here.
    init(_ sql: String, in database: Database) throws(SQLiteFailure) {
        statement = try database.perform { try $0.cachedStatement(sql: sql) }
        steps = Steps(statement)
    }

    /// Ends the last run. Values can be bound only after that.
    func reset() {
        // Unchecked, because the values are bound later.
        statement.setUncheckedArguments(StatementArguments())
        steps._isDone = false
    }

    /// Binds the value of a parameter. Parameters are counted from 1.
    ///
    /// - Parameter value: a `String` ends at its first NUL character. Pass text that may contain one as `Data`, with a
    ///   CAST in the SQL.
    func bind(_ value: some StatementBinding, at index: CInt) throws(SQLiteFailure) {
        let code = ResultCode(rawValue: value.bind(to: statement.sqliteStatement, at: index))
        guard code == .SQLITE_OK else { throw SQLiteFailure(code: code, message: "parameter \(index)") }
    }

    /// Runs a statement that returns no rows.
    func run(in database: Database) throws(SQLiteFailure) {
        try database.perform { _ in try statement.execute() }
    }

    /// Returns the result of `body` for the first row; nil if there is no row. The row is valid only during the call.
    /// After it, values can be bound again.
    func firstRow<Value>(in database: Database, _ body: (BoundRow) -> Value) throws(SQLiteFailure) -> Value? {
        // Do not reset a failed statement: GRDB would end the process.
        let row = try database.perform { _ in try steps.next() }
        defer { reset() }
        return row.map(body)
    }
}

/// The current row of a statement.
struct BoundRow {
    fileprivate let statement: SQLiteStatement

    /// A BLOB, or the whole TEXT, of a column; empty if it is NULL. Columns are counted from 0.
    func bytes(_ column: CInt) -> Data { Data(sqliteStatement: statement, index: column) }
}

/// Makes GRDB step through the rows of a statement.
// swift-format-ignore: NoLeadingUnderscores
private final class Steps: DatabaseCursor {
    typealias Element = BoundRow

    // GRDB's protocol requires this name.
    let _statement: Statement
    var _isDone = false

    init(_ statement: Statement) { _statement = statement }

    func _element(sqliteStatement: SQLiteStatement) -> BoundRow { BoundRow(statement: sqliteStatement) }
}

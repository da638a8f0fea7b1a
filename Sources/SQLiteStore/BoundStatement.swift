import GRDB

import struct Foundation.Data

/// A prepared statement whose values are bound one after the other, for the few that run for every push.
///
/// GRDB's usual way makes several arrays of the values and a closure for each, which for thirteen values costs more than
/// what SQLite does with them. What is used here instead is as public, and leaves every call of SQLite's to GRDB: values
/// bind themselves (`StatementBinding`) and columns read themselves (`StatementColumnConvertible`). The pointer that
/// both want comes from GRDB and goes back to GRDB.
///
/// One that failed cannot be run again: GRDB removes it from the connection's cache, where the next comes from.
struct BoundStatement {
    private let statement: Statement
    private let steps: Steps

    /// - Parameter sql: a statement that is used nowhere else, because it stays in the connection's cache as this type
    ///   leaves it.
    init(_ sql: String, in database: Database) throws(SQLiteFailure) {
        statement = try database.perform { try $0.cachedStatement(sql: sql) }
        steps = Steps(statement)
    }

    /// Ends the last run. Values can be bound only after that.
    func reset() {
        // Unchecked, because the values come one by one.
        statement.setUncheckedArguments(StatementArguments())
        steps._isDone = false
    }

    /// Sets the value of a parameter, which are counted from 1.
    ///
    /// - Parameter value: a `String` ends at its first NUL character; text that may hold one is passed as `Data`, with a
    ///   CAST in the SQL.
    func bind(_ value: some StatementBinding, at index: CInt) throws(SQLiteFailure) {
        let code = ResultCode(rawValue: value.bind(to: statement.sqliteStatement, at: index))
        guard code == .SQLITE_OK else { throw SQLiteFailure(code: code, message: "parameter \(index)") }
    }

    /// Runs a statement that returns no rows.
    func run(in database: Database) throws(SQLiteFailure) {
        try database.perform { _ in try statement.execute() }
    }

    /// Returns what `body` makes of the first row; nil if there is no row. The row is valid during the call only.
    /// Afterwards values can be bound again.
    func firstRow<Value>(in database: Database, _ body: (BoundRow) -> Value) throws(SQLiteFailure) -> Value? {
        // Not after a failure: GRDB ends the process when a failed statement is reset.
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

/// Has GRDB take a statement from row to row.
// swift-format-ignore: NoLeadingUnderscores
private final class Steps: DatabaseCursor {
    typealias Element = BoundRow

    // The protocol names them so.
    let _statement: Statement
    var _isDone = false

    init(_ statement: Statement) { _statement = statement }

    func _element(sqliteStatement: SQLiteStatement) -> BoundRow { BoundRow(statement: sqliteStatement) }
}

import Notifications

/// A statement, or a part of one. Interpolated values become parameters, never SQL:
///
/// ```swift
/// let statement: SQLStatement = "SELECT rate FROM message WHERE number = \(number)"
/// ```
///
/// There must be few different texts, because a connection keeps each command prepared.
package struct SQLStatement: Sendable, ExpressibleByStringInterpolation {
    fileprivate enum Part: Sendable {
        case text(String)
        case either(sqlite: [Part], postgresql: [Part])
        case value(SQLValue)
        case anyOf([String])
        case batch(SQLBatch)
    }

    private var parts: [Part]
    /// Whether a connection keeps the command prepared. False for a command of which there may be any number.
    package private(set) var isPrepared = true

    package init(stringLiteral text: String) { parts = [.text(text)] }
    package init(stringInterpolation: StringInterpolation) { parts = stringInterpolation.parts }

    private init(_ parts: [Part]) { self.parts = parts }

    /// A name or another piece of SQL from the source code.
    package static func sql(_ text: String) -> SQLStatement { SQLStatement([.text(text)]) }

    /// A piece of SQL that is not the same in both databases.
    package static func either(sqlite: String, postgresql: String) -> SQLStatement {
        either(sqlite: .sql(sqlite), postgresql: .sql(postgresql))
    }

    /// A piece of SQL that is not the same in both databases, and has not the same parameters.
    package static func either(sqlite: SQLStatement, postgresql: SQLStatement) -> SQLStatement {
        SQLStatement([.either(sqlite: sqlite.parts, postgresql: postgresql.parts)])
    }

    /// The parts for one database.
    private static func parts(_ parts: [Part], isSQLite: Bool) -> [Part] {
        parts.flatMap { part in
            guard case .either(let sqlite, let postgresql) = part else { return [part] }
            return Self.parts(isSQLite ? sqlite : postgresql, isSQLite: isSQLite)
        }
    }

    /// Locks the selected rows until the transaction ends. SQLite has one writer, so it needs no locks.
    package static let forUpdate = either(sqlite: "", postgresql: "FOR UPDATE")

    /// Selects nothing instead of a column with bytes.
    package static let noBytes = either(sqlite: "x''", postgresql: "''::bytea")

    /// Whether a text is one of these.
    package static func anyOf(_ texts: [String]) -> SQLStatement { SQLStatement([.anyOf(texts)]) }

    package static func value(_ value: SQLValue) -> SQLStatement { SQLStatement([.value(value)]) }

    /// The same statement, which is not kept prepared.
    package var once: SQLStatement {
        var statement = self
        statement.isPrepared = false
        return statement
    }

    package static func + (left: SQLStatement, right: SQLStatement) -> SQLStatement {
        SQLStatement(left.parts + right.parts)
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var parts: [Part] = []

        package init(literalCapacity: Int, interpolationCount: Int) {
            parts.reserveCapacity(interpolationCount * 2 + 1)
        }

        package mutating func appendLiteral(_ literal: String) { if !literal.isEmpty { parts.append(.text(literal)) } }
        package mutating func appendInterpolation(_ value: Int64?) { parts.append(.value(.integer(value))) }
        // fits: Int has 64 bits
        package mutating func appendInterpolation(_ value: Int) { parts.append(.value(.integer(Int64(value)))) }
        package mutating func appendInterpolation(_ value: String?) { parts.append(.value(.text(value))) }
        package mutating func appendInterpolation(_ value: [UInt8]?) { parts.append(.value(.bytes(value))) }
        package mutating func appendInterpolation(_ part: SQLStatement) { parts.append(contentsOf: part.parts) }
        /// The rows of a batch, as a table with the name `n`. A statement has one batch at most.
        package mutating func appendInterpolation(_ batch: SQLBatch) { parts.append(.batch(batch)) }
    }
}

extension [SQLStatement] {
    package func joined(separator: String) -> SQLStatement {
        guard let first else { return "" }
        return dropFirst().reduce(first) { $0 + .sql(separator) + $1 }
    }
}

extension SQLStatement {
    /// The statement for SQLite.
    package struct ForSQLite {
        package fileprivate(set) var sql = ""
        /// The parameters before those of a row of the batch, and after them.
        package fileprivate(set) var before: [SQLValue] = []
        package fileprivate(set) var after: [SQLValue] = []
        /// The parameters of the batch. The statement has to be executed once for each row. One empty row if there is no
        /// batch.
        package fileprivate(set) var rows: [[SQLValue]] = [[]]
    }

    package var sqlite: ForSQLite {
        var statement = ForSQLite()
        var hasBatch = false
        func add(_ value: SQLValue) {
            if hasBatch { statement.after.append(value) } else { statement.before.append(value) }
        }
        for part in Self.parts(parts, isSQLite: true) {
            switch part {
            case .text(let text): statement.sql += text
            case .either: break
            case .value(let value):
                if case .anyText = value { statement.sql += "CAST(? AS TEXT)" } else { statement.sql += "?" }
                add(value)
            case .anyOf(let texts):
                statement.sql += "IN (SELECT value FROM json_each(?))"
                add(.text(JSONValue.array(texts.map(JSONValue.string)).text))
            case .batch(let batch):
                statement.sql += "(SELECT " + batch.names.map { "? AS \($0.sqlite)" }.joined(separator: ", ") + ") AS n"
                statement.rows = batch.rows
                hasBatch = true
            }
        }
        return statement
    }

    /// The text and the parameters for PostgreSQL.
    /// - Parameters:
    ///   - value: makes a parameter of a value.
    ///   - texts: makes a parameter of a list of texts.
    ///   - column: makes a parameter of all values of a column.
    package func postgresql<Parameter>(
        value: (SQLValue) -> Parameter,
        texts: ([String]) -> Parameter,
        column: (SQLType, [SQLValue]) -> Parameter,
    ) -> (sql: String, parameters: [Parameter]) {
        var (sql, parameters): (String, [Parameter]) = ("", [])
        func name(_ parameter: Parameter) -> String {
            parameters.append(parameter)
            return "$\(parameters.count)"
        }
        for part in Self.parts(parts, isSQLite: false) {
            switch part {
            case .text(let text): sql += text
            case .either: break
            case .value(let item): sql += name(value(item))
            case .anyOf(let list): sql += "= ANY (\(name(texts(list))))"
            case .batch(let batch):
                let columns = batch.types.enumerated().map { index, type in
                    "\(name(column(type, batch.rows.map { $0[index] })))::\(type.postgresql)[]"
                }
                let names = batch.names.map(\.postgresql).joined(separator: ", ")
                sql += "unnest(\(columns.joined(separator: ", "))) AS n (\(names))"
            }
        }
        return (sql, parameters)
    }
}

/// Rows that one statement writes. PostgreSQL gets all of them at once. SQLite executes the statement for each, because a
/// prepared statement is faster there than a long one.
package struct SQLBatch: Sendable {
    let names: [ColumnName]
    let types: [SQLType]
    package let rows: [[SQLValue]]

    /// - Parameters:
    ///   - columns: the name and the type of each column.
    ///   - rows: each with a value for each column, in this order.
    package init(_ columns: [(name: ColumnName, type: SQLType)], _ rows: [[SQLValue]]) {
        assert(rows.allSatisfy { $0.count == columns.count })
        names = columns.map(\.name)
        types = columns.map(\.type)
        self.rows = rows
    }
}

/// The name of a column. It is not the same in both databases if it is a keyword in one of them.
package struct ColumnName: Sendable, Hashable, ExpressibleByStringLiteral {
    package let sqlite: String
    package let postgresql: String

    package init(sqlite: String, postgresql: String) {
        self.sqlite = sqlite
        self.postgresql = postgresql
    }

    package init(stringLiteral name: String) { self.init(sqlite: name, postgresql: name) }

    /// The name in a statement.
    package var sql: SQLStatement { .either(sqlite: sqlite, postgresql: postgresql) }
}

/// The type of a column.
package enum SQLType: Sendable, Hashable {
    case integer, text, bytes, bool

    var postgresql: String {
        switch self {
        case .integer: "bigint"
        case .text: "text"
        case .bytes: "bytea"
        case .bool: "boolean"
        }
    }

    var null: SQLValue {
        switch self {
        case .integer: .integer(nil)
        case .text: .text(nil)
        case .bytes: .bytes(nil)
        // A column with this type is never NULL.
        case .bool: .bool(false)
        }
    }
}

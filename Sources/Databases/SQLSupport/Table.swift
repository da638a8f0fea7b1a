package import Storage

/// The columns of a table, each declared once with its name, its type and the property that it stores.
///
/// Reading calls the initializer with the values of all columns. So a property that has no column does not compile.
package struct Table<Row>: Sendable {
    private struct Entry: Sendable {
        let names: [ColumnName]
        let types: [SQLType]
        let isGenerated: Bool
        let values: @Sendable (Row) throws -> [SQLValue]
    }

    package let name: String
    private let entries: [Entry]
    private let make: @Sendable (any SQLRow, Int) throws -> Row

    /// - Parameters:
    ///   - make: makes a row from the values of the columns, in their order.
    package init<each Value>(
        _ name: String,
        _ make: @escaping @Sendable (repeat each Value) -> Row,
        _ column: repeat Column<Row, each Value>,
    ) {
        var entries: [Entry] = []
        for column in repeat each column {
            entries.append(
                Entry(
                    names: column.names, types: column.type.types, isGenerated: column.isGenerated,
                    values: { try column.type.values(column.property($0)) }))
        }
        self.name = name
        self.entries = entries
        self.make = { row, first in
            var index = first
            func read<Read>(_ column: Column<Row, Read>) throws -> Read {
                guard let value = try column.type.read(row, index) else { throw DamagedRow() }
                index += column.names.count
                return value
            }
            return make(repeat try read(each column))
        }
    }

    /// Reads a row from the columns of ``columns(of:)``, which begin at an index.
    package func row(_ row: any SQLRow, from first: Int = 0) throws(StoreError) -> Row {
        do {
            return try make(row, first)
        } catch {
            throw StoreError(
                .unreadable, "The table \(name) has a row that cannot be read: stop the server and restore a backup.")
        }
    }

    // MARK: Pieces of statements

    /// The names of all columns, for SELECT.
    /// - Parameters:
    ///   - alias: the name of the table in the statement.
    ///   - replacing: a column that is not selected, and what is selected in its place.
    package func columns(of alias: String, replacing: (name: ColumnName, by: SQLStatement)? = nil) -> SQLStatement {
        entries.flatMap(\.names).map { name in
            if let replacing, replacing.name == name { replacing.by } else { .sql(alias + ".") + name.sql }
        }.joined(separator: ", ")
    }

    /// The columns that the store writes.
    private var written: [Entry] { entries.filter { !$0.isGenerated } }

    /// The names of the columns to write.
    package var names: [ColumnName] { written.flatMap(\.names) }

    /// The names of the columns to write, for INSERT.
    package var list: SQLStatement { names.map(\.sql).joined(separator: ", ") }

    private func written(_ row: Row) throws(StoreError) -> [SQLValue] {
        do {
            return try written.flatMap { try $0.values(row) }
        } catch {
            throw StoreError(.unavailable, "A value for the table \(name) cannot be encoded.")
        }
    }

    /// The values of the columns to write, for INSERT.
    package func values(_ row: Row) throws(StoreError) -> SQLStatement {
        try written(row).map(SQLStatement.value).joined(separator: ", ")
    }

    /// Sets the columns, for UPDATE.
    /// - Parameter others: the columns that stay as they are.
    package func assignments(_ row: Row, except others: Set<ColumnName> = []) throws(StoreError) -> SQLStatement {
        zip(names, try written(row)).filter { !others.contains($0.0) }
            .map { $0.sql + " = " + .value($1) }.joined(separator: ", ")
    }

    /// How many columns ``columns(of:)`` has.
    package var count: Int { entries.reduce(0) { $0 + $1.names.count } }

    /// Sets the columns to those of the row that could not be inserted, for INSERT … ON CONFLICT DO UPDATE.
    /// - Parameter others: the columns that get another value.
    package func replacements(except others: [ColumnName: SQLStatement] = [:]) -> SQLStatement {
        names.map { name in
            name.sql + " = " + (others[name] ?? "excluded." + name.sql)
        }.joined(separator: ", ")
    }

    /// The columns to write, of several rows.
    /// - Parameter more: further columns, with the value of each row.
    package func batch(
        _ rows: [Row], _ more: (name: ColumnName, type: SQLType, values: [SQLValue])...
    ) throws(StoreError) -> SQLBatch {
        let columns = written.flatMap { Array(zip($0.names, $0.types)) }.map { (name: $0, type: $1) }
        var values: [[SQLValue]] = []
        for (index, row) in rows.enumerated() { values.append(try written(row) + more.map { $0.values[index] }) }
        return SQLBatch(columns + more.map { ($0.name, $0.type) }, values)
    }
}

/// The column of a property, or the columns if its type has several.
package struct Column<Row, Value>: Sendable {
    let names: [ColumnName]
    let type: ColumnType<Value>
    let property: @Sendable (Row) -> Value
    /// Whether the database chooses the value.
    let isGenerated: Bool

    package init(
        _ names: ColumnName...,
        type: ColumnType<Value>,
        isGenerated: Bool = false,
        _ property: @escaping @Sendable (Row) -> Value,
    ) {
        assert(names.count == type.types.count)
        self.names = names
        self.type = type
        self.property = property
        self.isGenerated = isGenerated
    }
}

package import Notifications

/// How a value is stored, in one column or in several.
package struct ColumnType<Value>: Sendable {
    let types: [SQLType]
    /// Makes a value for each column.
    package let values: @Sendable (Value) throws -> [SQLValue]
    /// Reads the value from the columns that begin at an index; nil if the store cannot have written it.
    package let read: @Sendable (any SQLRow, Int) throws -> Value?

    package init(
        _ types: [SQLType],
        values: @escaping @Sendable (Value) throws -> [SQLValue],
        read: @escaping @Sendable (any SQLRow, Int) throws -> Value?,
    ) {
        self.types = types
        self.values = values
        self.read = read
    }

    package init(
        _ type: SQLType,
        value: @escaping @Sendable (Value) throws -> SQLValue,
        read: @escaping @Sendable (any SQLRow, Int) throws -> Value?,
    ) {
        self.init([type], values: { [try value($0)] }, read: read)
    }

    /// A value that is nil if the first column is NULL.
    package static func optional<Wrapped>(_ type: ColumnType<Wrapped>) -> ColumnType where Value == Wrapped? {
        ColumnType(
            type.types, values: { try $0.map(type.values) ?? type.types.map(\.null) },
            read: { row, column in row.isNull(column) ? .some(nil) : try type.read(row, column).map { .some($0) } })
    }

    /// The same columns for another type.
    package static func mapping<Base>(
        _ type: ColumnType<Base>,
        to base: @escaping @Sendable (Value) -> Base,
        from value: @escaping @Sendable (Base) -> Value?,
    ) -> ColumnType {
        ColumnType(type.types, values: { try type.values(base($0)) }, read: { try type.read($0, $1).flatMap(value) })
    }

    /// JSON in UTF-8.
    package static func json() -> ColumnType where Value: Codable & SendableMetatype {
        ColumnType(
            .bytes, value: { .bytes(Array(try JSONValue(encoding: $0).text.utf8)) },
            read: { row, column in
                try row.bytes(column).map { try JSONValue.decode($0) }
            })
    }

    /// The raw value as a text.
    package static func rawText() -> ColumnType where Value: RawRepresentable<String> & SendableMetatype {
        mapping(.text, to: \.rawValue) { Value(rawValue: $0) }
    }
}

extension ColumnType<Int64> {
    package static let integer = ColumnType(.integer, value: { .integer($0) }, read: { $0.integer($1) })
}

extension ColumnType<String> {
    package static let text = ColumnType(.text, value: { .text($0) }, read: { $0.text($1) })
    /// A text that may contain any character. See ``SQLValue/anyText(_:)``.
    package static let anyText = ColumnType(.bytes, value: { .anyText($0) }, read: { $0.text($1) })
    /// Hexadecimal digits as bytes.
    package static let hexadecimal = ColumnType(
        .bytes, value: { .bytes(Hexadecimal.bytes($0) ?? []) }, read: { $0.bytes($1).map { Hexadecimal.string($0) } })
}

extension ColumnType<[UInt8]> {
    package static let bytes = ColumnType(.bytes, value: { .bytes($0) }, read: { $0.bytes($1) })
}

extension ColumnType<Bool> {
    package static let bool = ColumnType(.bool, value: { .bool($0) }, read: { $0.bool($1) })
}

extension ColumnType<Timestamp> {
    /// Milliseconds since 1970.
    package static let moment = ColumnType(
        .integer, value: { .integer($0.column) }, read: { $0.integer($1).map(Timestamp.init(column:)) })
}

extension ColumnType<Environment> {
    package static let environment = ColumnType(
        .integer, value: { .integer($0.column) }, read: { $0.integer($1).flatMap(Environment.init(column:)) })
}

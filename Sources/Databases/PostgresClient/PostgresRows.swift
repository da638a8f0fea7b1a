/// The answer to a statement, copied from libpq's memory.
package struct PostgresRows: Sendable {
    package let count: Int
    /// The number of rows that the statement has changed or returned.
    package let affected: Int
    private let columns: Int
    private let bytes: [UInt8]
    /// For each field, its end in `bytes` and whether it is NULL.
    private let fields: [(end: Int, isNull: Bool)]

    init(count: Int, columns: Int, affected: Int, bytes: [UInt8], fields: [(end: Int, isNull: Bool)]) {
        self.count = count
        self.columns = columns
        self.affected = affected
        self.bytes = bytes
        self.fields = fields
    }

    package subscript(row: Int) -> PostgresRow { PostgresRow(rows: self, number: row) }

    package var first: PostgresRow? { count > 0 ? self[0] : nil }

    package func map<Value, Failure: Error>(_ body: (PostgresRow) throws(Failure) -> Value) throws(Failure) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for row in 0..<count { values.append(try body(self[row])) }
        return values
    }

    /// Returns a field's bytes; nil for NULL and for a field that the answer does not have.
    fileprivate func field(_ row: Int, _ column: Int) -> ArraySlice<UInt8>? {
        guard (0..<count).contains(row), (0..<columns).contains(column) else { return nil }
        let index = row * columns + column
        guard !fields[index].isNull else { return nil }
        return bytes[(index == 0 ? 0 : fields[index - 1].end)..<fields[index].end]
    }
}

/// A row of an answer. A field is nil if it is NULL, or does not have the type that the caller asks for.
package struct PostgresRow {
    fileprivate let rows: PostgresRows
    fileprivate let number: Int

    package func isNull(_ column: Int) -> Bool { rows.field(number, column) == nil }

    /// A field of the type `smallint`, `integer` or `bigint`.
    package func integer(_ column: Int) -> Int64? {
        guard let field = rows.field(number, column) else { return nil }
        switch field.count {
        case 2: return Int64(Int16(truncatingIfNeeded: Self.bits(field)))  // fits: 16 bits
        case 4: return Int64(Int32(truncatingIfNeeded: Self.bits(field)))  // fits: 32 bits
        case 8: return Int64(bitPattern: Self.bits(field))
        default: return nil
        }
    }

    package func bool(_ column: Int) -> Bool? {
        guard let field = rows.field(number, column), field.count == 1 else { return nil }
        return field.first == 1
    }

    package func text(_ column: Int) -> String? {
        rows.field(number, column).map { String(decoding: $0, as: UTF8.self) }
    }

    package func bytes(_ column: Int) -> [UInt8]? { rows.field(number, column).map(Array.init) }

    private static func bits(_ field: ArraySlice<UInt8>) -> UInt64 {
        field.reduce(0) { $0 << 8 | UInt64($1) }
    }
}

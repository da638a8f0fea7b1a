/// A parameter of a statement. It is sent in PostgreSQL's binary format.
///
/// A value includes its type, because a prepared statement has fixed parameter types. Integers are always `bigint`,
/// whatever the column's type is.
package enum PostgresValue: Sendable, Hashable {
    case integer(Int64?)
    case text(String?)
    case bytes([UInt8]?)
    case bool(Bool)
    case integers([Int64?])
    case texts([String?])
    case byteArrays([[UInt8]?])

    /// The object ID of the type. PostgreSQL's catalog defines it (`pg_type.dat`).
    var typeID: UInt32 {
        switch self {
        case .bool: 16
        case .bytes: 17
        case .integer: 20
        case .text: 25
        case .byteArrays: 1001
        case .texts: 1009
        case .integers: 1016
        }
    }

    /// The name of the type in a statement.
    package var typeName: String {
        switch self {
        case .bool: "boolean"
        case .bytes: "bytea"
        case .integer: "bigint"
        case .text: "text"
        case .byteArrays: "bytea[]"
        case .texts: "text[]"
        case .integers: "bigint[]"
        }
    }

    /// The value's bytes; nil for NULL.
    var bytes: [UInt8]? {
        switch self {
        case .bool(let value): [value ? 1 : 0]
        case .integer(let value): value.map(Self.bytes)
        case .text(let value): value.map { Array($0.utf8) }
        case .bytes(let value): value
        case .integers(let values):
            Self.array(of: 20, values.count, elementBytes: 8) { bytes in
                for value in values { Self.append(value.map(Self.bytes), to: &bytes) }
            }
        case .texts(let values):
            Self.array(of: 25, values.count, elementBytes: 16) { bytes in
                for value in values { Self.append(value?.utf8, to: &bytes) }
            }
        case .byteArrays(let values):
            Self.array(of: 17, values.count, elementBytes: 64) { bytes in
                for value in values { Self.append(value, to: &bytes) }
            }
        }
    }

    /// How many bytes the value has without its type and length.
    var byteCount: Int {
        switch self {
        case .bool: 1
        case .integer: 8
        case .text(let value): value?.utf8.count ?? 0
        case .bytes(let value): value?.count ?? 0
        case .integers(let values): values.count * 8
        case .texts(let values): values.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
        case .byteArrays(let values): values.reduce(0) { $0 + ($1?.count ?? 0) }
        }
    }

    private static func bytes(_ integer: Int64) -> [UInt8] { withUnsafeBytes(of: integer.bigEndian) { Array($0) } }

    /// Encodes an array of one dimension. The format is: the number of dimensions, whether there are NULLs, the type
    /// of the elements, the number of elements, the first index, and the elements.
    private static func array(
        of typeID: UInt32,
        _ count: Int,
        elementBytes: Int,
        _ append: (inout [UInt8]) -> Void,
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(20 + count * (4 + elementBytes))
        for word in [count == 0 ? 0 : 1, 1, typeID] { appendWord(word, to: &bytes) }
        guard count > 0 else { return bytes }
        for word in [UInt32(clamping: count), 1] { appendWord(word, to: &bytes) }
        append(&bytes)
        return bytes
    }

    private static func append(_ element: (some Collection<UInt8>)?, to bytes: inout [UInt8]) {
        guard let element else { return appendWord(.max, to: &bytes) }
        appendWord(UInt32(clamping: element.count), to: &bytes)
        bytes.append(contentsOf: element)
    }

    private static func appendWord(_ word: UInt32, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
    }
}

/// A statement and its parameters. The connection prepares it when it is used for the first time.
package struct PostgresStatement: Sendable {
    package let sql: String
    package let values: [PostgresValue]
    /// Whether each connection keeps the command prepared.
    let isPrepared: Bool
    /// How many bytes the parameters have, approximately.
    let byteCount: Int

    /// - Parameter sql: one command. There must be few different ones, because each connection keeps every command
    ///   prepared.
    package init(_ sql: StaticString, _ values: [PostgresValue] = []) {
        self.init(sql.description, values, isPrepared: true)
    }

    /// - Parameter sql: one command with parts for which no parameter is allowed: a database's name, or a list
    ///   of columns that is the same for all values. Each connection keeps every command prepared, so there must be few
    ///   different ones.
    package init(assembled sql: String, _ values: [PostgresValue] = []) {
        self.init(sql, values, isPrepared: true)
    }

    /// - Parameter sql: one command of which there may be any number, such as a search that a person describes. It is not
    ///   kept.
    package init(once sql: String, _ values: [PostgresValue]) { self.init(sql, values, isPrepared: false) }

    private init(_ sql: String, _ values: [PostgresValue], isPrepared: Bool) {
        self.sql = sql
        self.values = values
        self.isPrepared = isPrepared
        byteCount = values.reduce(0) { $0 + $1.byteCount }
    }
}

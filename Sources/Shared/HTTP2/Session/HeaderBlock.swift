import HTTP2Core

/// The header fields of one request or response, as bytes.
///
/// Reuse one block for each connection and call `removeAll()` before each use: after it has grown once, it allocates
/// nothing. Names must be in lower case, and pseudo-header fields come first (RFC 9113, 8.2 and 8.3).
package struct HeaderBlock: Sendable {
    /// How the encoder writes a field (RFC 7541, 6.2).
    package enum Indexing: Sendable {
        /// The field may enter the peer's dynamic table: for values that repeat.
        case indexed
        /// The field is not added to the table. Use this for secrets, and for values that do not repeat, such as
        /// `apns-id`: they would push repeating values out of the table. `HTTP2Configuration.literals` chooses
        /// between the two forms of such literals.
        case never
    }

    /// A name or a value: a literal of the program, or a range of the block's bytes.
    enum Piece: Sendable {
        case literal(StaticString)
        case bytes(offset: Int, count: Int)
    }

    struct Field: Sendable {
        var name: Piece
        var value: Piece
        var indexing: Indexing
    }

    private(set) var bytes: ContiguousArray<UInt8> = []
    private(set) var fields: ContiguousArray<Field> = []

    /// Makes an empty block.
    package init() {}

    /// Empties the block and keeps its memory.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
    }

    /// Adds a field whose name and value are literals: neither is copied.
    package mutating func append(_ name: StaticString, _ value: StaticString, indexing: Indexing = .indexed) {
        fields.append(Field(name: piece(name), value: piece(value), indexing: indexing))
    }

    /// Adds a field with a literal name. The bytes of the value are copied.
    @_disfavoredOverload
    package mutating func append(_ name: StaticString, _ value: String, indexing: Indexing = .indexed) {
        fields.append(Field(name: piece(name), value: piece(value.utf8), indexing: indexing))
    }

    /// Adds a field whose value is a literal followed by other bytes, which are copied.
    package mutating func append(
        _ name: StaticString,
        beginning: StaticString,
        _ rest: String,
        indexing: Indexing = .indexed,
    ) {
        let offset = bytes.count
        beginning.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: rest.utf8)
        let value = Piece.bytes(offset: offset, count: bytes.count - offset)
        fields.append(Field(name: piece(name), value: value, indexing: indexing))
    }

    /// Adds a field with a literal name. The bytes of the value are copied.
    package mutating func append(_ name: StaticString, _ value: Span<UInt8>, indexing: Indexing = .indexed) {
        let value = value.withUnsafeBufferPointer { piece($0) }
        fields.append(Field(name: piece(name), value: value, indexing: indexing))
    }

    /// Adds a field whose name is only known at run time. The name has to be in lower case (RFC 9113, 8.2).
    package mutating func append(name: String, value: String, indexing: Indexing = .indexed) {
        fields.append(Field(name: piece(name.utf8), value: piece(value.utf8), indexing: indexing))
    }

    private mutating func piece(_ literal: StaticString) -> Piece {
        // The compiler may store a literal of one character as the character itself, without a pointer.
        literal.hasPointerRepresentation ? .literal(literal) : piece(literal.description.utf8)
    }

    private mutating func piece(_ value: some Collection<UInt8>) -> Piece {
        let offset = bytes.count
        bytes.append(contentsOf: value)
        return .bytes(offset: offset, count: bytes.count - offset)
    }
}

extension HeaderBlock {
    /// Copies the fields to a list.
    func copy(to list: inout FieldList, literals: HTTP2Configuration.Literals) {
        list.removeAll()
        bytes.withUnsafeBufferPointer { arena in
            for field in fields {
                let (name, value) = (field.name.bytes(in: arena), field.value.bytes(in: arena))
                list.append(name.span, value.span, field.form(literals))
            }
        }
    }
}

extension HeaderBlock.Field {
    fileprivate func form(_ literals: HTTP2Configuration.Literals) -> FieldForm {
        switch (indexing, literals) {
        case (.indexed, _): .incremental
        case (.never, .neverIndexed): .neverIndexed
        case (.never, .withoutIndexing): .withoutIndexing
        }
    }
}

extension HeaderBlock.Piece {
    fileprivate func bytes(in arena: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        switch self {
        case .literal(let text): UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        case .bytes(let offset, let count): UnsafeBufferPointer(rebasing: arena[offset..<offset + count])
        }
    }
}

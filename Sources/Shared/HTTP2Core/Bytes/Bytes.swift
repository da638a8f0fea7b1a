// All unsafe code of this module is in this file. No pointer leaves a closure here.
//
// Why it is needed: Swift 6.3 has no `append` of a `Span` to an array, and gives no access to the bytes of a
// `StaticString` but by a pointer. Both pointers come with their counts, and are read within the closure only.

extension [UInt8] {
    /// Appends a copy of the bytes, in one move. Byte by byte would take several times as long.
    @inline(__always)
    mutating func append(copying bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
    }

    /// Appends the bytes of a literal.
    mutating func append(literal: StaticString) {
        literal.withUTF8Buffer { append(contentsOf: $0) }
    }
}

extension Span<UInt8> {
    /// Whether the bytes are those of a literal.
    func isEqual(to literal: StaticString) -> Bool {
        guard count == literal.utf8CodeUnitCount else { return false }
        return literal.withUTF8Buffer { literal in withUnsafeBufferPointer { $0.elementsEqual(literal) } }
    }

    /// Whether both have the same bytes.
    func isEqual(to other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return other.withUnsafeBufferPointer { other in withUnsafeBufferPointer { $0.elementsEqual(other) } }
    }
}

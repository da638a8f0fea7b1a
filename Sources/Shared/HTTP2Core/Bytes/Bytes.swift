// The unsafe code of this module is in this folder. No pointer leaves a closure here.
//
// Why it is needed: Swift 6.3 has no `append` of a `Span` to an array, and gives no access to the bytes of a
// `StaticString` but by a pointer. Both pointers come with their counts, and are read within the closure only.

extension [UInt8] {
    /// Appends a copy of the bytes, in one move. Byte by byte would take several times as long.
    @inline(__always)
    mutating func append(copying bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
    }

    /// Replaces bytes by a copy of others, in one move if they are as many.
    mutating func replace(_ range: Range<Int>, copying bytes: Span<UInt8>) {
        bytes.withUnsafeBytes { bytes in
            guard bytes.count == range.count else {
                return replaceSubrange(range, with: bytes)
            }
            withUnsafeMutableBytes { UnsafeMutableRawBufferPointer(rebasing: $0[range]).copyMemory(from: bytes) }
        }
    }

    /// Appends the bytes of a literal.
    mutating func append(literal: StaticString) {
        literal.withUTF8Buffer { append(contentsOf: $0) }
    }
}

extension Span<UInt8> {
    /// Whether the bytes are those of a literal. Most differ in their number, which is compared first.
    @inline(__always)
    func isEqual(to literal: StaticString) -> Bool { count == literal.utf8CodeUnitCount && hasBytes(of: literal) }

    private func hasBytes(of literal: StaticString) -> Bool {
        literal.withUTF8Buffer { isEqual(to: $0.span) }
    }

    /// Whether both have the same bytes.
    func isEqual(to other: Span<UInt8>) -> Bool { count == other.count && commonPrefix(with: other) == count }

    /// How many bytes at the beginning of both are the same. Compares eight at a time.
    func commonPrefix(with other: Span<UInt8>) -> Int {
        let count = Swift.min(count, other.count)
        var index = 0
        while index + 8 <= count {
            let difference =
                bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian
                ^ other.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian
            guard difference == 0 else { return index + difference.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < count, self[index] == other[index] { index += 1 }
        return index
    }
}

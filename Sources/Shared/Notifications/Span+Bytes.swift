// Operations on borrowed bytes: comparing without a copy, and copying. Unsafe pointers are used in this file only.
extension Span<UInt8> {
    package func firstIndex(of byte: UInt8) -> Int? {
        for index in 0..<count where self[index] == byte { return index }
        return nil
    }

    /// A copy of the bytes.
    package var array: [UInt8] { withUnsafeBufferPointer { Array($0) } }

    /// The bytes as text. Invalid UTF-8 is replaced.
    package var text: String { withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) } }

    /// The bytes as text; nil if they are not UTF-8.
    package var validText: String? { withUnsafeBufferPointer { String(validating: $0, as: UTF8.self) } }

    /// Compares with an ASCII word.
    package func isEqual(to word: StaticString) -> Bool {
        guard count == word.utf8CodeUnitCount else { return false }
        return word.withUTF8Buffer { letters in
            withUnsafeBytes { Self.isEqual($0, UnsafeRawBufferPointer(letters)) }
        }
    }

    /// Compares with other bytes.
    package func isEqual(to bytes: [UInt8]) -> Bool {
        guard count == bytes.count else { return false }
        return bytes.withUnsafeBytes { other in
            withUnsafeBytes { Self.isEqual($0, other) }
        }
    }

    /// Compares eight bytes at a time, because each request's provider token of 250 bytes is compared. The last bytes
    /// are compared as one overlapping group of eight or four.
    private static func isEqual(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        func areEqual<Word: FixedWidthInteger & BitwiseCopyable>(at index: Int, _: Word.Type) -> Bool {
            one.loadUnaligned(fromByteOffset: index, as: Word.self)
                == other.loadUnaligned(fromByteOffset: index, as: Word.self)
        }
        let count = one.count
        guard count >= 4 else { return (0..<count).allSatisfy { one[$0] == other[$0] } }
        guard count >= 8 else { return areEqual(at: 0, UInt32.self) && areEqual(at: count - 4, UInt32.self) }
        var index = 0
        while index < count - 8 {
            guard areEqual(at: index, UInt64.self) else { return false }
            index += 8
        }
        return areEqual(at: count - 8, UInt64.self)
    }
}

extension [UInt8] {
    /// Adds a copy of the bytes.
    package mutating func append(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
    }
}

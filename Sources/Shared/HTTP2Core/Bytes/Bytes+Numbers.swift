// Numbers in network byte order (RFC 9113, 2.2). `unsafeLoadUnaligned` checks that the bytes are there; unsafe is what it does
// for types that not all bytes are values of.

extension Span<UInt8> {
    /// A number of 16 bits. The caller has checked that its bytes are there.
    func uint16(at offset: Int) -> UInt16 {
        UInt16(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    /// A number of 32 bits. The caller has checked that its bytes are there.
    func uint32(at offset: Int) -> UInt32 {
        UInt32(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// A number of 64 bits. The caller has checked that its bytes are there.
    func uint64(at offset: Int) -> UInt64 {
        UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

extension [UInt8] {
    mutating func append(uint16 number: UInt16) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }

    mutating func append(uint32 number: UInt32) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}

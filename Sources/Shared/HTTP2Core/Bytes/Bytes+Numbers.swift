// Numbers in network byte order (RFC 9113, 2.2).

extension Span<UInt8> {
    /// A number of 16 bits. The caller has checked that its bytes are there.
    func uint16(at offset: Int) -> UInt16 {
        UInt16(self[offset]) << 8 | UInt16(self[offset + 1])
    }

    /// A number of 32 bits. The caller has checked that its bytes are there.
    func uint32(at offset: Int) -> UInt32 {
        UInt32(uint16(at: offset)) << 16 | UInt32(uint16(at: offset + 2))
    }

    /// A number of 64 bits. The caller has checked that its bytes are there.
    func uint64(at offset: Int) -> UInt64 {
        UInt64(uint32(at: offset)) << 32 | UInt64(uint32(at: offset + 4))
    }
}

extension [UInt8] {
    mutating func append(uint16 number: UInt16) {
        append(UInt8(truncatingIfNeeded: number >> 8))
        append(UInt8(truncatingIfNeeded: number))
    }

    mutating func append(uint32 number: UInt32) {
        append(uint16: UInt16(truncatingIfNeeded: number >> 16))
        append(uint16: UInt16(truncatingIfNeeded: number))
    }
}

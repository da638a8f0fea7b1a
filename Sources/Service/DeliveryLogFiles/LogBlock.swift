/// The format of a block: records that were written together, with their length and a checksum. With these, the
/// reader recognises and skips a block that a crash has cut off.
enum LogBlock {
    /// "CDL1" in the file: version 1 of the delivery log's format.
    static let mark: UInt32 = 0x314c_4443
    /// The size of the header, in bytes: the mark, the length of the records, and their checksum.
    static let headerBytes = 16
    /// The largest size of a block's records, in bytes. A longer block is treated as damaged. The limit is twice what
    /// the waiting events usually take. Memory is only allocated as the block fills.
    static let maximumBytes = 4 << 20

    /// The result of reading a block from the beginning of some bytes.
    enum Reading: Equatable {
        /// The bytes begin with a whole block. `count` is its length in bytes.
        case whole(ArraySlice<UInt8>, count: Int)
        /// The bytes may be the beginning of a block, which needs this many bytes.
        case partial(needed: Int)
        case damaged
    }

    static func read(_ bytes: ArraySlice<UInt8>) -> Reading {
        var reader = ByteReader(bytes)
        guard bytes.count >= headerBytes else { return .partial(needed: headerBytes) }
        // fits: 32 bits
        guard reader.integer(UInt32.self) == mark, let length = reader.integer(UInt32.self).map(Int.init),
            length <= maximumBytes, let sum = reader.integer(UInt64.self)
        else { return .damaged }
        guard let records = reader.read(length) else { return .partial(needed: headerBytes + length) }  // fits: 32 bits
        guard records.withUnsafeBytes({ checksum($0) }) == sum else { return .damaged }
        return .whole(records, count: headerBytes + length)  // fits: 32 bits
    }

    /// FNV-1a over words of 8 bytes, with zeros added to the last word. It is fast, and detects blocks that were cut
    /// off or never written.
    static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var sum: UInt64 = 0xcbf2_9ce4_8422_2325 ^ UInt64(bytes.count)
        var index = 0
        while index + 8 <= bytes.count {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            sum = (sum ^ word) &* 0x0000_0100_0000_01b3
            sum ^= sum >> 29
            index += 8
        }
        var last: UInt64 = 0
        // fits: a byte, and its index in eight
        for (shift, byte) in bytes[index...].enumerated() { last |= UInt64(byte) << UInt64(shift * 8) }
        return (sum ^ last) &* 0x0000_0100_0000_01b3
    }
}

/// Records that were written together, with what shows whether they are whole: what a crash cut off is left out.
enum LogBlock {
    /// "CDL1" as it stands in the file: a delivery log, the first form of it.
    static let mark: UInt32 = 0x314c_4443
    /// In bytes: the mark, the length of the records, their checksum.
    static let headerBytes = 16
    /// In bytes, of records: what is longer is no block. Room for twice the events that may wait as a rule; memory is
    /// taken as a block fills.
    static let maximumBytes = 4 << 20

    /// What is found at the beginning of some bytes.
    enum Reading: Equatable {
        /// A block, and how many bytes it takes.
        case whole(ArraySlice<UInt8>, count: Int)
        /// Perhaps the beginning of one; so many bytes would be all of it.
        case partial(needed: Int)
        case damaged
    }

    static func read(_ bytes: ArraySlice<UInt8>) -> Reading {
        var reader = ByteReader(bytes)
        guard bytes.count >= headerBytes else { return .partial(needed: headerBytes) }
        guard reader.integer(UInt32.self) == mark, let length = reader.integer(UInt32.self).map(Int.init),
            length <= maximumBytes, let sum = reader.integer(UInt64.self)
        else { return .damaged }
        guard let records = reader.take(length) else { return .partial(needed: headerBytes + length) }
        guard records.withUnsafeBytes({ checksum($0) }) == sum else { return .damaged }
        return .whole(records, count: headerBytes + length)
    }

    /// FNV-1a over words of 8 bytes, the last one filled up with zeros: it finds what was cut off or never written, and
    /// costs nothing.
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
        for (shift, byte) in bytes[index...].enumerated() { last |= UInt64(byte) << UInt64(shift * 8) }
        return (sum ^ last) &* 0x0000_0100_0000_01b3
    }
}

/// Integers with a prefix (RFC 7541, 5.1).
enum PrefixInteger {
    /// The greatest shift: numbers of up to 35 bits are read, which exceeds every limit. Longer ones, also those with
    /// leading zeros, are decoding errors (RFC 7541, 5.1 and 7.4).
    private static let maximumShift = 28

    /// Reads an integer at `offset`, and moves the offset behind it.
    /// - Parameter prefix: the number of bits in the first byte, 4 to 7.
    static func read(_ block: Span<UInt8>, at offset: inout Int, prefix: UInt8) throws(Fault) -> Int {
        guard offset < block.count else { throw truncated }
        let mask = UInt8(1) << prefix &- 1
        // 64 bits, also where `Int` has 32.
        var number = UInt64(block[offset] & mask)  // fits: a byte
        offset += 1
        guard number == UInt64(mask) else { return Int(clamping: number) }  // fits: a byte
        var shift = 0
        while true {
            guard offset < block.count else { throw truncated }
            guard shift <= maximumShift else {
                throw Fault(.compressionError, "RFC 7541, 5.1", "an integer of a field block is too large")
            }
            let byte = block[offset]
            offset += 1
            number += UInt64(byte & 0x7f) << shift  // fits: seven bits, shifted by maximumShift at most
            shift += 7
            if byte & 0x80 == 0 { return Int(clamping: number) }
        }
    }

    private static var truncated: Fault {
        Fault(.compressionError, "RFC 9113, 4.3", "a field block ends within a field")
    }

    /// Appends an integer.
    /// - Parameters:
    ///   - prefix: the number of bits in the first byte, 4 to 7.
    ///   - pattern: the bits before the prefix.
    static func write(_ number: Int, prefix: UInt8, pattern: UInt8, to output: inout [UInt8]) {
        let mask = UInt8(1) << prefix &- 1
        guard number >= Int(mask) else {  // fits: a byte
            output.append(pattern | UInt8(truncatingIfNeeded: number))
            return
        }
        output.append(pattern | mask)
        var rest = number - Int(mask)  // fits: a byte, and the number is not less
        while rest >= 0x80 {
            output.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        output.append(UInt8(truncatingIfNeeded: rest))
    }
}

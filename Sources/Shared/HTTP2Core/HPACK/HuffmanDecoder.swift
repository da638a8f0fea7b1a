/// Decodes strings of RFC 7541, 5.2, with tables.
///
/// The next eight bits are the index of a table that has the symbol of each code with at most eight bits, which are all
/// letters and digits. Longer codes are found by their length: codes of one length are consecutive numbers.
package enum HuffmanDecoder {
    private static let shortBits = 8

    /// For each eight bits, the symbol and the length of the code that they begin with; 0 if the code is longer.
    private static let short: [UInt16] = {
        var table = [UInt16](repeating: 0, count: 1 << shortBits)
        for symbol in 0..<HuffmanCode.symbolCount where HuffmanCode.lengths[symbol] <= shortBits {
            let bits = Int(HuffmanCode.lengths[symbol])  // fits: a byte
            let first = Int(HuffmanCode.codes[symbol]) << (shortBits - bits)  // fits: a code's bits, at most 30
            // fits: a symbol and its bits, 9 and 4 bits
            for index in first..<first + 1 << (shortBits - bits) { table[index] = UInt16(symbol << 4 | bits) }
        }
        return table
    }()

    private static let pairBits = 12

    /// For each twelve bits, the symbols that they begin with: the first, the second, how many there are, and the bits of
    /// their codes, eight bits each; 0 if the first code is longer. Most letters and digits have five or six bits, so there
    /// are two.
    private static let pairs: [UInt32] = {
        /// The symbol of the code that so many bits begin with.
        func first(_ window: Int, _ bits: Int) -> (symbol: Int, bits: Int)? {
            for symbol in 0..<HuffmanCode.endOfString {
                let length = Int(HuffmanCode.lengths[symbol])  // fits: a byte
                // fits: a code's bits, at most 30
                if length <= bits, window >> (bits - length) == Int(HuffmanCode.codes[symbol]) {
                    return (symbol, length)
                }
            }
            return nil
        }
        return (0..<1 << pairBits).map { window in
            guard let one = first(window, pairBits) else { return 0 }
            let rest = pairBits - one.bits
            guard let two = first(window & (1 << rest - 1), rest) else {
                return UInt32(one.symbol | 1 << 16 | one.bits << 24)  // fits: a byte and some bits
            }
            // fits: two bytes and some bits
            return UInt32(one.symbol | two.symbol << 8 | 2 << 16 | (one.bits + two.bits) << 24)
        }
    }()

    /// The codes of one length.
    private struct Length {
        var bits: UInt32
        /// The first code of the next length, as the highest of 32 bits: every code of this length is below it.
        var end: UInt64
        /// The first code, as the highest of 32 bits.
        var first: UInt32
        /// The position of its symbol in `HuffmanCode.symbols`.
        var position: Int
    }

    /// The lengths that are greater than `shortBits` and have codes, in rising order.
    private static let long: [Length] = {
        var lengths: [Length] = []
        var position = 0
        for bits in HuffmanCode.minimumBits...HuffmanCode.maximumBits {
            let symbols = HuffmanCode.symbols.filter { Int(HuffmanCode.lengths[Int($0)]) == bits }  // fits: 16 bits
            if bits > shortBits, let symbol = symbols.first {
                let first = HuffmanCode.codes[Int(symbol)] << UInt32(32 - bits)  // fits: a code's bits, at most 30
                // fits: a code has at most 30 bits, and there are 257
                let end = UInt64(first) + UInt64(symbols.count) << UInt64(32 - bits)
                // fits: a code's bits, at most 30
                lengths.append(Length(bits: UInt32(bits), end: end, first: first, position: position))
            }
            position += symbols.count
        }
        return lengths
    }()

    /// The most bytes that a string of this many bytes can stand for: the shortest code has five bits.
    static func maximumCount(of encoded: Int) -> Int { encoded * 8 / HuffmanCode.minimumBits }

    /// Decodes a string to the end of `output`, which has to have room for `maximumCount(of:)` bytes.
    /// - Returns: whether the string is valid. EOS within it, and padding that is not a beginning of EOS or has eight
    ///   bits or more, are decoding errors (RFC 7541, 5.2).
    static func decode(_ input: Span<UInt8>, into output: inout OutputSpan<UInt8>) -> Bool {
        let (short, pairs) = (short, pairs)
        // The lowest `count` bits of `bits` are those that were read and not decoded, at most 63.
        var (bits, count, next) = (UInt64(0), 0, 0)
        while true {
            if count < 56, input.count - next >= 8 {
                let bytes = (63 - count) / 8
                let read = UInt64(truncatingIfNeeded: bytes * 8)
                bits = bits &<< read | input.uint64(at: next) &>> (64 - read)  // fits: at most 64
                count += bytes * 8
                next += bytes
            }
            while count < 56, next < input.count {
                bits = bits &<< 8 | UInt64(input[next])  // fits: a byte
                count += 8
                next += 1
            }
            while count >= pairBits {
                let window = bits &>> UInt64(truncatingIfNeeded: count &- pairBits)
                let pair = pairs[Int(truncatingIfNeeded: window) & (1 << pairBits - 1)]
                guard pair != 0 else { break }
                output.append(UInt8(truncatingIfNeeded: pair))
                if pair & 0x20000 != 0 { output.append(UInt8(truncatingIfNeeded: pair >> 8)) }
                count &-= Int(truncatingIfNeeded: pair >> 24)
            }
            // The next 32 bits have a whole code.
            if count >= 32 {
                let window = UInt32(truncatingIfNeeded: bits &>> UInt64(truncatingIfNeeded: count - 32))
                let (symbol, length) = code(window, short)
                guard symbol != HuffmanCode.endOfString else { return false }
                output.append(UInt8(truncatingIfNeeded: symbol))
                count -= length
                continue
            }
            guard next == input.count else { continue }
            guard count > 0 else { return true }
            // The rest, and ones after it, which are the beginning of EOS.
            // fits: a count of bits, less than 32
            let window = UInt32(truncatingIfNeeded: bits << UInt64(32 - count)) | UInt32.max >> UInt32(count)
            let (symbol, length) = code(window, short)
            // If it is shorter than a code, it is padding.
            guard length <= count else { return count < 8 && window == UInt32.max }
            guard symbol != HuffmanCode.endOfString else { return false }
            output.append(UInt8(truncatingIfNeeded: symbol))
            count -= length
        }
    }

    /// Decodes a string that is known as a whole.
    /// - Returns: nil if the string is not valid.
    package static func decoded(_ input: [UInt8]) -> [UInt8]? {
        var isValid = true
        var text: [UInt8] = []
        text.append(addingCapacity: maximumCount(of: input.count)) { output in
            isValid = decode(input.span, into: &output)
        }
        return isValid ? text : nil
    }

    /// The first symbol of 32 bits, and the length of its code.
    @inline(__always)
    private static func code(_ window: UInt32, _ short: [UInt16]) -> (symbol: Int, bits: Int) {
        let entry = short[Int(window >> 24)]  // fits: a byte
        return entry == 0 ? longCode(window) : (Int(entry >> 4), Int(entry & 0xf))  // fits: 16 bits
    }

    private static func longCode(_ window: UInt32) -> (symbol: Int, bits: Int) {
        for length in long where UInt64(window) < length.end {  // fits: 32 bits
            let distance = Int((window &- length.first) >> (32 - length.bits))  // fits: 32 bits
            return (Int(HuffmanCode.symbols[length.position + distance]), Int(length.bits))  // fits: 32 bits
        }
        // The code is complete, so a length was found: the last one ends at 2^32.
        return (HuffmanCode.endOfString, HuffmanCode.maximumBits)
    }
}

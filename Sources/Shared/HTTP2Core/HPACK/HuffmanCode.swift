/// The Huffman code of RFC 7541, appendix B.
///
/// The code is canonical: the codes of one length are consecutive, in the order of their symbols, and each length
/// begins where the shorter one ended. So the lengths are the whole table, and the codes follow from them.
enum HuffmanCode {
    /// The number of symbols: all bytes, and EOS.
    static let symbolCount = 257
    static let endOfString = 256
    static let minimumBits = 5
    static let maximumBits = 30

    /// The length of each symbol's code in bits.
    static let lengths: [UInt8] = [
        13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
        28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
        6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
        5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
        13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
        7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
        15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
        6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
        20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
        24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
        22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
        21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
        26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
        19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
        20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
        26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
        30,
    ]

    /// The symbols in the order of their codes.
    static let symbols: [UInt16] = {
        var symbols: [UInt16] = []
        for length in minimumBits...maximumBits {
            // fits: 257 symbols, and a byte
            for symbol in 0..<symbolCount where Int(lengths[symbol]) == length { symbols.append(UInt16(symbol)) }
        }
        return symbols
    }()

    /// The code of each symbol, in the lowest bits.
    static let codes: [UInt32] = {
        var codes = [UInt32](repeating: 0, count: symbolCount)
        var (code, length) = (UInt32(0), minimumBits)
        for symbol in symbols {
            let bits = Int(lengths[Int(symbol)])  // fits: a byte
            code <<= UInt32(bits - length)  // fits: a code's bits, at most 30
            length = bits
            codes[Int(symbol)] = code  // fits: 16 bits
            code += 1
        }
        return codes
    }()
}

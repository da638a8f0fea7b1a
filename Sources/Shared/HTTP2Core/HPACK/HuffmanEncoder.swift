/// Encodes strings by RFC 7541, 5.2.
enum HuffmanEncoder {
    /// The number of bytes that the encoded string has.
    static func count(_ text: Span<UInt8>) -> Int {
        let lengths = HuffmanCode.lengths
        var bits = 0
        for index in text.indices { bits += Int(lengths[Int(text[index])]) }  // fits: a byte each
        return (bits + 7) / 8
    }

    /// Appends the encoded string. The last byte is filled with the beginning of EOS, which is all ones.
    static func encode(_ text: Span<UInt8>, to output: inout [UInt8]) {
        let (lengths, codes) = (HuffmanCode.lengths, HuffmanCode.codes)
        var (bits, count) = (UInt64(0), 0)
        for index in text.indices {
            let symbol = Int(text[index])  // fits: a byte
            let length = Int(lengths[symbol])  // fits: a byte
            bits = bits << UInt64(length) | UInt64(codes[symbol])  // fits: a code's bits, at most 30
            count += length
            while count >= 8 {
                count -= 8
                output.append(UInt8(truncatingIfNeeded: bits >> UInt64(count)))  // fits: a count of bits, less than 64
            }
        }
        guard count > 0 else { return }
        // fits: a count of bits, less than 8
        output.append(UInt8(truncatingIfNeeded: bits << UInt64(8 - count)) | UInt8(0xff) >> UInt8(count))
    }
}

/// Bytes as hexadecimal digits, and back.
package enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    /// The value of one digit in either case; nil for any other byte.
    package static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit &- 0x30
        case 0x61...0x66: digit &- 0x61 &+ 10
        case 0x41...0x46: digit &- 0x41 &+ 10
        default: nil
        }
    }

    /// Reads two digits a byte, as many as the target holds; false where there are too few digits or others.
    ///
    /// Without a branch for each digit: those of a device token are random, so that every second would be guessed wrong.
    static func read(_ digits: UnsafeBufferPointer<UInt8>, into target: UnsafeMutableRawBufferPointer) -> Bool {
        guard digits.count >= target.count * 2 else { return false }
        var others: UInt8 = 0
        for index in 0..<target.count {
            let (high, low) = (digits[index &* 2], digits[index &* 2 &+ 1])
            target[index] = bits(of: high) << 4 | bits(of: low)
            others |= isOther(high) | isOther(low)
        }
        return others == 0
    }

    /// The value of a digit: the letters begin at 1 in their lower half, and are told by their upper one.
    private static func bits(of digit: UInt8) -> UInt8 { (digit & 0xf) &+ (digit >> 6) &* 9 }

    /// 1 for what is no digit.
    private static func isOther(_ digit: UInt8) -> UInt8 {
        let isNumber: UInt8 = digit &- 0x30 < 10 ? 1 : 0
        let isLetter: UInt8 = (digit | 0x20) &- 0x61 < 6 ? 1 : 0
        return 1 ^ (isNumber | isLetter)
    }

    /// Two lower-case digits a byte.
    package static func string(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.underestimatedCount * 2)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 0xf)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

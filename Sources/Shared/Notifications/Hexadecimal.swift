/// Bytes as hexadecimal digits, and back.
package enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    /// The value of one digit in upper or lower case; nil for any other byte.
    package static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit &- 0x30
        case 0x61...0x66: digit &- 0x61 &+ 10
        case 0x41...0x46: digit &- 0x41 &+ 10
        default: nil
        }
    }

    /// Reads two digits for each byte of the target. Returns false if there are too few digits, or if a byte is not a
    /// digit.
    ///
    /// There is no branch for each digit: the digits of a device token are random, so the processor would guess every
    /// second branch wrong.
    static func read(_ digits: UnsafeBufferPointer<UInt8>, into target: UnsafeMutableRawBufferPointer) -> Bool {
        guard digits.count >= target.count * 2 else { return false }
        var nonDigits: UInt8 = 0
        for index in 0..<target.count {
            let (high, low) = (digits[index &* 2], digits[index &* 2 &+ 1])
            target[index] = bits(of: high) << 4 | bits(of: low)
            nonDigits |= nonDigitBit(of: high) | nonDigitBit(of: low)
        }
        return nonDigits == 0
    }

    /// The value of a digit. The low half of a letter's byte counts from 1, and only letters have the bit 0x40.
    private static func bits(of digit: UInt8) -> UInt8 { (digit & 0xf) &+ (digit >> 6) &* 9 }

    /// 1 if the byte is not a digit, otherwise 0.
    private static func nonDigitBit(of digit: UInt8) -> UInt8 {
        let isNumber: UInt8 = digit &- 0x30 < 10 ? 1 : 0
        let isLetter: UInt8 = (digit | 0x20) &- 0x61 < 6 ? 1 : 0
        return 1 ^ (isNumber | isLetter)
    }

    /// The eight lower-case digits of a number, the first one in the highest byte.
    ///
    /// All digits are computed at once: each gets a byte of its own, and adding 6 sets the next bit only for values
    /// above 9.
    static func digits(_ number: UInt32) -> UInt64 {
        var values = UInt64(number)  // fits: 32 bits
        values = (values << 16 | values) & 0x0000_ffff_0000_ffff
        values = (values << 8 | values) & 0x00ff_00ff_00ff_00ff
        values = (values << 4 | values) & 0x0f0f_0f0f_0f0f_0f0f
        let letters = (values &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        // fits: a byte
        return values &+ 0x3030_3030_3030_3030 &+ letters &* UInt64(UInt8(ascii: "a") - UInt8(ascii: "0") - 10)
    }

    /// The number that eight digits in upper or lower case mean, the first one in the highest byte; nil if a byte is not a digit.
    ///
    /// All digits are read at once. A byte is a digit exactly if the value that it would have is written as this byte again.
    static func number(_ text: UInt64) -> UInt32? {
        // Bit 6 is set in letters only. The low half of a letter's byte counts from 1.
        let letters = text >> 6 & 0x0101_0101_0101_0101
        var values = (text & 0x0f0f_0f0f_0f0f_0f0f &+ letters &* 9) & 0x0f0f_0f0f_0f0f_0f0f
        values = (values >> 4 | values) & 0x00ff_00ff_00ff_00ff
        values = (values >> 8 | values) & 0x0000_ffff_0000_ffff
        let number = UInt32(truncatingIfNeeded: values >> 16 | values)
        return digits(number) == text | letters << 5 ? number : nil
    }

    /// Which of eight digits are capital letters. The lowest bit is the first digit, which is in the highest byte.
    static func capitals(_ text: UInt64) -> UInt32 {
        // Bit 6 is set in letters only, and bit 5 in digits and lower-case letters.
        let marks = (text >> 6 & ~(text >> 5) & 0x0101_0101_0101_0101).byteSwapped
        // Moves the lowest bit of each byte into the highest byte.
        return UInt32(truncatingIfNeeded: (marks &* 0x0102_0408_1020_4080) >> 56)
    }

    /// The bytes that a text of hexadecimal digits means; nil unless it consists of pairs of digits.
    package static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(of: digits[index]), let low = value(of: digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// Lower-case digits, two for each byte.
    package static func string(_ bytes: some Sequence<UInt8>) -> String { string(Array(bytes)) }

    /// The same for an array. Device tokens are written for each forwarded notification, and the compiler does not specialise
    /// the generic function for callers in other modules.
    package static func string(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])  // fits: four bits
            text.append(digits[Int(byte & 0xf)])  // fits: four bits
        }
        return String(decoding: text, as: UTF8.self)
    }
}

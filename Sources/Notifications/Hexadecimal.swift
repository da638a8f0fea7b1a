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

/// Base 85 with the alphabet of ZeroMQ's RFC 32, as relays of Web Push write binary data.
///
/// Four bytes are five digits. The last one to three bytes are one big-endian number, in one digit more than bytes.
package enum Z85 {
    private static let alphabet = Array(
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#".utf8)

    /// The value of each byte as a digit; nil for bytes that are none.
    private static let values: [UInt64?] = {
        var values = [UInt64?](repeating: nil, count: 256)
        // fits: a byte, and its index in 85
        for (value, digit) in alphabet.enumerated() { values[Int(digit)] = UInt64(value) }
        return values
    }()

    private static let (groupBytes, groupDigits) = (4, 5)

    /// The text of bytes. Each length has one text.
    package static func encoded(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count / groupBytes * groupDigits + groupDigits)
        for start in stride(from: 0, to: bytes.count, by: groupBytes) {
            let group = bytes[start..<min(start + groupBytes, bytes.count)]
            // At most 2 to the power of 32.
            var rest = group.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            var digits: [UInt8] = []
            for _ in 0...group.count {
                digits.append(alphabet[Int(rest % 85)])  // fits: less than 85
                rest /= 85
            }
            text += digits.reversed()
        }
        return text
    }

    /// Whether a text stands for bytes: it has only digits, no group is too large, and the last group is not a single digit.
    package static func isEncoded(_ text: some Collection<UInt8>) -> Bool {
        var (group, digits): (UInt64, UInt64) = (0, 0)
        for byte in text {
            guard let value = values[Int(byte)] else { return false }  // fits: a byte
            // At most 85 to the power of 5, which is less than 2 to the power of 33.
            group = group * 85 + value
            digits += 1
            guard digits == groupDigits else { continue }
            guard group <= UInt64(UInt32.max) else { return false }
            (group, digits) = (0, 0)
        }
        return digits == 0 || (digits > 1 && group < 1 << (8 * (digits - 1)))
    }
}

/// Base 64 as JSON Web Tokens use it.
package enum Base64URL {
    /// Which texts are read.
    package enum Form {
        /// Either alphabet (RFC 4648, 4 and 5), with padding or without: widely used clients send all four forms.
        case any
        /// The URL-safe alphabet (RFC 4648, 5), with padding or without.
        case url
        /// The URL-safe alphabet without padding (RFC 7515, 2), the only form in JSON Web Tokens and their keys.
        case token
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The URL-safe alphabet, no padding (RFC 7515, 2).
    package static func encoded(_ bytes: some Sequence<UInt8>) -> [UInt8] { text(of: Array(bytes)) }

    /// Apart from the generic function, which callers in other modules run unspecialised, with a call for each byte: this was a
    /// twentieth of what a message of Web Push costs.
    private static func text(of bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)  // fits: a byte
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[Int(bits >> count & 0x3f)])  // fits: six bits
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << (6 - count) & 0x3f)]) }  // fits: six bits
        return text
    }

    /// - Returns: nil for anything but the form: other bytes, an impossible length, incomplete padding, or unused bits that
    ///   are not zero (RFC 4648, 3.5). So each sequence of bytes has only one text in each form.
    package static func decoded(_ text: ArraySlice<UInt8>, _ form: Form = .any) -> [UInt8]? {
        let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding == 0 || (form != .token && padding <= 2 && text.count.isMultiple(of: 4)) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var bits: UInt32 = 0
        var count = 0
        for digit in text.dropLast(padding) {
            guard let value = value(of: digit, form) else { return nil }
            bits = bits << 6 | value
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))  // fits: a count of bits, less than 8
            }
        }
        guard count < 6, bits & (1 << UInt32(count) - 1) == 0 else { return nil }  // fits: a count of bits, less than 8
        return bytes
    }

    private static func value(of digit: UInt8, _ form: Form) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))  // fits: a byte
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26  // fits: a byte
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52  // fits: a byte
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        case UInt8(ascii: "+") where form == .any: 62
        case UInt8(ascii: "/") where form == .any: 63
        default: nil
        }
    }
}

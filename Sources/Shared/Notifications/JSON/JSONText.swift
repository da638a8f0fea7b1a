/// The lexical grammar of JSON (RFC 8259, sections 2, 3, 6 and 7) over bytes. Each function moves `index` past what it
/// recognises. If it recognises nothing, `index` is at the fault.
enum JSONText {
    /// A byte order mark in UTF-8. Some editors and spreadsheets begin a file with it. A reader may ignore it (RFC 8259,
    /// 8.1).
    static let mark: [UInt8] = [0xef, 0xbb, 0xbf]

    /// White space, which may be between tokens.
    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 }

    /// A string that begins at `index`.
    /// - Returns: the range of its characters, without the quotation marks; nil if it is not a string.
    static func skipString(_ text: Span<UInt8>, _ index: inout Int) -> Range<Int>? {
        index += 1
        let start = index
        while index < text.count {
            let plain = plainBytes(text, index)
            index += plain
            if plain == 8 { continue }
            switch text[index] {
            case UInt8(ascii: "\""):
                index += 1
                return start..<(index - 1)
            case UInt8(ascii: "\\"):
                guard skipEscape(text, &index) else { return nil }
            case 0..<0x20:
                return nil
            case 0x20..<0x80:
                index += 1
            default:
                guard skipMultibyte(text, &index) else { return nil }
            }
        }
        return nil
    }

    /// How many of the next eight bytes are plain characters of a string, before the first that is not; 0 near the end
    /// of the text. Most of a payload is such text, and checking eight bytes takes hardly longer than one.
    private static func plainBytes(_ text: Span<UInt8>, _ index: Int) -> Int {
        guard text.count - index >= 8 else { return 0 }
        let word = UInt64(littleEndian: text.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
        let (ones, tops): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        // Each of these functions sets the top bit of the first byte that it looks for. It may also set bits of later
        // bytes.
        func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word & tops }
        let controls = (word &- ones &* 0x20) & ~word & tops
        let quotationMarks = zeros(word ^ ones &* UInt64(UInt8(ascii: "\"")))  // fits: a byte
        let escapes = zeros(word ^ ones &* UInt64(UInt8(ascii: "\\")))  // fits: a byte
        let marks = word & tops | controls | quotationMarks | escapes
        return marks.trailingZeroBitCount / 8
    }

    /// A number: an integer without leading zeros, an optional fraction and an optional exponent.
    static func skipNumber(_ text: Span<UInt8>, _ index: inout Int) -> Bool {
        if byte(text, index) == UInt8(ascii: "-") { index += 1 }
        if byte(text, index) == UInt8(ascii: "0") {
            index += 1
        } else {
            guard skipDigits(text, &index) else { return false }
        }
        if byte(text, index) == UInt8(ascii: ".") {
            index += 1
            guard skipDigits(text, &index) else { return false }
        }
        if let mark = byte(text, index), mark | 0x20 == UInt8(ascii: "e") {
            index += 1
            if let sign = byte(text, index), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { index += 1 }
            guard skipDigits(text, &index) else { return false }
        }
        return true
    }

    /// `true`, `false` or `null`.
    static func skipWord(_ text: Span<UInt8>, _ index: inout Int) -> Bool {
        let word: StaticString
        switch text[index] {
        case UInt8(ascii: "t"): word = "true"
        case UInt8(ascii: "f"): word = "false"
        case UInt8(ascii: "n"): word = "null"
        default: return false
        }
        let count = word.utf8CodeUnitCount
        guard text.count - index >= count else { return false }
        let start = index
        let isEqual = word.withUTF8Buffer { letters in
            (0..<count).allSatisfy { letters[$0] == text[start + $0] }
        }
        guard isEqual else { return false }
        index += count
        return true
    }

    /// Reads one character of a string and resolves an escape; returns nil if the character is not ASCII.
    static func asciiCharacter(_ text: Span<UInt8>, _ index: inout Int) -> UInt8? {
        let first = text[index]
        guard first == UInt8(ascii: "\\") else {
            index += 1
            return first < 0x80 ? first : nil
        }
        guard byte(text, index + 1) == UInt8(ascii: "u"), let value = codeUnit(text, index + 2) else { return nil }
        index += 6
        return value < 0x80 ? UInt8(value) : nil  // fits: less than 0x80
    }

    /// The characters of a string with escapes resolved. Half a character, such as an emoji that was cut in the middle,
    /// is allowed by the grammar (RFC 8259, 8.2). It becomes U+FFFD. The text must be valid JSON.
    static func unescaped(_ text: Span<UInt8>, _ characters: Range<Int>) -> String {
        let inside = text.extracting(characters)
        guard inside.firstIndex(of: UInt8(ascii: "\\")) != nil else { return inside.text }
        var result: [UInt8] = []
        var index = 0
        while index < inside.count {
            if inside[index] == UInt8(ascii: "\\") {
                result.append(contentsOf: String(escaped(inside, &index)).utf8)
            } else {
                result.append(inside[index])
                index += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func escaped(_ text: Span<UInt8>, _ index: inout Int) -> Unicode.Scalar {
        let kind = byte(text, index + 1)
        index += 2
        switch kind {
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            guard let high = codeUnit(text, index) else { return half }
            index += 4
            guard (0xd800...0xdbff).contains(high) else { return Unicode.Scalar(high) ?? half }
            guard byte(text, index) == UInt8(ascii: "\\"), byte(text, index + 1) == UInt8(ascii: "u"),
                let low = codeUnit(text, index + 2), (0xdc00...0xdfff).contains(low)
            else { return half }
            index += 6
            return Unicode.Scalar(0x10000 + (high - 0xd800) << 10 + (low - 0xdc00)) ?? half
        default: return kind.map { Unicode.Scalar($0) } ?? half
        }
    }

    /// What stands for half a character.
    private static let half: Unicode.Scalar = "\u{fffd}"

    /// Four hexadecimal digits.
    private static func codeUnit(_ text: Span<UInt8>, _ start: Int) -> UInt32? {
        guard start + 4 <= text.count else { return nil }
        var value: UInt32 = 0
        for position in start..<(start + 4) {
            guard let digit = Hexadecimal.value(of: text[position]) else { return nil }
            value = value << 4 | UInt32(digit)  // fits: a digit
        }
        return value
    }

    private static func byte(_ text: Span<UInt8>, _ index: Int) -> UInt8? {
        index < text.count ? text[index] : nil
    }

    private static func skipDigits(_ text: Span<UInt8>, _ index: inout Int) -> Bool {
        let start = index
        while let digit = byte(text, index), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) { index += 1 }
        return index > start
    }

    private static func skipEscape(_ text: Span<UInt8>, _ index: inout Int) -> Bool {
        guard let kind = byte(text, index + 1) else { return false }
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            index += 2
            return true
        case UInt8(ascii: "u"):
            guard codeUnit(text, index + 2) != nil else { return false }
            index += 6
            return true
        default:
            return false
        }
    }

    /// Skips one valid character of two to four bytes, according to the Unicode Standard's table 3-7: no overlong
    /// form, no surrogate, nothing above U+10FFFF.
    private static func skipMultibyte(_ text: Span<UInt8>, _ index: inout Int) -> Bool {
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xbf
        switch text[index] {
        case 0xc2...0xdf: length = 2
        case 0xe0: (length, second) = (3, 0xa0...0xbf)
        case 0xed: (length, second) = (3, 0x80...0x9f)
        case 0xe1...0xef: length = 3
        case 0xf0: (length, second) = (4, 0x90...0xbf)
        case 0xf1...0xf3: length = 4
        case 0xf4: (length, second) = (4, 0x80...0x8f)
        default: return false
        }
        guard text.count - index >= length, second.contains(text[index + 1]) else { return false }
        for offset in 2..<max(length, 2) where !(0x80...0xbf).contains(text[index + offset]) { return false }
        index += length
        return true
    }
}

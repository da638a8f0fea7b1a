import Notifications

/// Reads the header or the claims of a JSON Web Token: one JSON object, of which only strings and numbers matter.
///
/// Foundation's reader keeps one of two members with the same name; a token that says something twice is refused here
/// (RFC 7519, 4, allows either), so that nobody else can have read the other one. Values that are neither string nor
/// number are checked for their form and passed over.
struct JSONObjectReader {
    /// Objects and arrays within one another. Tokens in use have one or two.
    static let maximumDepth = 8
    /// Tokens in use have two to seven.
    static let maximumMembers = 32

    enum Value: Hashable {
        case string(String)
        /// As it is written.
        case number(String)
        case other
    }

    private let bytes: [UInt8]
    private var position = 0

    /// The members of the object that makes up all of `bytes`; nil unless it is well-formed JSON (RFC 8259), within the
    /// limits, and every name stands there once.
    static func members(of bytes: [UInt8]) -> [String: Value]? {
        var reader = JSONObjectReader(bytes: bytes)
        reader.skipSpace()
        guard let members = reader.object() else { return nil }
        reader.skipSpace()
        return reader.position == bytes.count ? members : nil
    }

    /// The number that makes up all of `bytes`; nil for anything else.
    static func number(in bytes: [UInt8]) -> Double? {
        var reader = JSONObjectReader(bytes: bytes)
        guard let number = reader.number(), reader.position == bytes.count else { return nil }
        return Double(number)
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ byte: Character) -> Bool {
        guard let next, next == byte.asciiValue else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while let next, next == 0x20 || next == 0x0a || next == 0x0d || next == 0x09 { position += 1 }
    }

    private mutating func object() -> [String: Value]? {
        var members: [String: Value] = [:]
        guard take("{") else { return nil }
        skipSpace()
        if take("}") { return members }
        repeat {
            skipSpace()
            guard members.count < Self.maximumMembers, let name = string() else { return nil }
            skipSpace()
            guard take(":") else { return nil }
            skipSpace()
            guard let value = value(depth: 1), members.updateValue(value, forKey: name) == nil else { return nil }
            skipSpace()
        } while take(",")
        return take("}") ? members : nil
    }

    private mutating func value(depth: Int) -> Value? {
        guard let next else { return nil }
        switch next {
        case UInt8(ascii: "\""): return string().map { .string($0) }
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return number().map { .number($0) }
        case UInt8(ascii: "t"): return word("true")
        case UInt8(ascii: "f"): return word("false")
        case UInt8(ascii: "n"): return word("null")
        case UInt8(ascii: "{"), UInt8(ascii: "["): return nested(depth: depth)
        default: return nil
        }
    }

    private mutating func word(_ word: StaticString) -> Value? {
        let expected = word.withUTF8Buffer { Array($0) }
        guard bytes[position...].starts(with: expected) else { return nil }
        position += expected.count
        return .other
    }

    /// An object or array whose contents nobody asks for.
    private mutating func nested(depth: Int) -> Value? {
        guard depth < Self.maximumDepth, let opening = next else { return nil }
        position += 1
        let isObject = opening == UInt8(ascii: "{")
        skipSpace()
        if take(isObject ? "}" : "]") { return .other }
        repeat {
            skipSpace()
            if isObject {
                guard string() != nil else { return nil }
                skipSpace()
                guard take(":") else { return nil }
                skipSpace()
            }
            guard value(depth: depth + 1) != nil else { return nil }
            skipSpace()
        } while take(",")
        return take(isObject ? "}" : "]") ? .other : nil
    }

    /// RFC 8259, 6.
    private mutating func number() -> String? {
        let start = position
        _ = take("-")
        if !take("0") { guard digits() else { return nil } }
        if take(".") { guard digits() else { return nil } }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            guard digits() else { return nil }
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func digits() -> Bool {
        let start = position
        while let next, (0x30...0x39).contains(next) { position += 1 }
        return position > start
    }

    /// RFC 8259, 7.
    private mutating func string() -> String? {
        guard take("\"") else { return nil }
        var text: [UInt8] = []
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let scalar = escape() else { return nil }
                text.append(contentsOf: String(Character(scalar)).utf8)
            case 0..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    private mutating func escape() -> Unicode.Scalar? {
        guard let byte = next else { return nil }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            guard let high = fourDigits() else { return nil }
            guard (0xd800...0xdbff).contains(high) else { return Unicode.Scalar(high) }
            guard take("\\"), take("u"), let low = fourDigits(), (0xdc00...0xdfff).contains(low) else { return nil }
            return Unicode.Scalar(0x10000 + (high - 0xd800) << 10 + (low - 0xdc00))
        default: return nil
        }
    }

    private mutating func fourDigits() -> UInt32? {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = next, let nibble = Hexadecimal.value(of: digit) else { return nil }
            value = value << 4 | UInt32(nibble)
            position += 1
        }
        return value
    }
}

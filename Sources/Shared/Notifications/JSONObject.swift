/// The outermost level of a JSON dictionary: each key with the text of its value. Values that are only passed on stay
/// unchanged.
///
/// A dictionary that has a key twice is refused, also if the two are escaped differently: other readers keep one of the
/// two values (RFC 8259, 4), and it is not defined which.
package struct JSONObject {
    private let text: [UInt8]
    private let values: [String: Range<Int>]

    /// The most keys that a dictionary may have. Lines of our protocols have about ten.
    package static let maximumKeys = 100

    /// The deepest nesting: one level more than a payload may have, because a payload can be the value of a key.
    private static let maximumDepth = Payload.maximumDepth + 1

    /// - Returns: nil if the text is not a dictionary of at most ``maximumKeys`` different keys.
    package init?(_ text: [UInt8]) {
        // Scans the text twice: first to check all of it, then to find the keys.
        var scanner = PayloadScanner(maximumDepth: Self.maximumDepth)
        guard scanner.scan(text.span) == nil, let values = Self.members(of: text) else { return nil }
        self.text = text
        self.values = values
    }

    /// All keys, in alphabetical order.
    package var keys: [String] { values.keys.sorted() }

    /// The value's own text; nil if the key is missing.
    package subscript(raw key: String) -> [UInt8]? {
        values[key].map { Array(text[$0]) }
    }

    /// A whole number that is not negative; nil if the value is anything else.
    package subscript(number key: String) -> UInt64? {
        self[raw: key].flatMap { UInt64(String(decoding: $0, as: UTF8.self)) }
    }

    /// Any number; nil if the value is anything else.
    package subscript(double key: String) -> Double? { self[raw: key].flatMap(Self.number) }

    /// A text with its escapes resolved; nil if the value is anything else, or has an unpaired surrogate (RFC 8259,
    /// 8.2).
    package subscript(text key: String) -> String? {
        guard let value = values[key], text[value.lowerBound] == UInt8(ascii: "\"") else { return nil }
        return JSONText.unescaped(text.span, (value.lowerBound + 1)..<(value.upperBound - 1))
    }

    /// A dictionary; nil if the value is anything else.
    package subscript(object key: String) -> JSONObject? { self[raw: key].flatMap { JSONObject($0) } }

    /// The value of a text that is exactly one JSON number (RFC 8259, 6); nil for anything else.
    package static func number(_ text: [UInt8]) -> Double? {
        var index = 0
        guard JSONText.skipNumber(text.span, &index), index == text.count else { return nil }
        return Double(String(decoding: text, as: UTF8.self))
    }

    private static func members(of text: [UInt8]) -> [String: Range<Int>]? {
        let span = text.span
        var values: [String: Range<Int>] = [:]
        var index = afterSpace(span, 0) + 1
        while true {
            index = afterSpace(span, index)
            if span[index] == UInt8(ascii: "}") { return values }
            if span[index] == UInt8(ascii: ",") { index = afterSpace(span, index + 1) }
            guard let characters = JSONText.skipString(span, &index), values.count < maximumKeys,
                let key = JSONText.unescaped(span, characters)
            else { return nil }
            index = afterSpace(span, afterSpace(span, index) + 1)
            let start = index
            guard skipValue(span, &index), values.updateValue(start..<index, forKey: key) == nil else { return nil }
        }
    }

    /// Moves past a value of a text that was checked before, by counting brackets and skipping strings.
    private static func skipValue(_ span: Span<UInt8>, _ index: inout Int) -> Bool {
        var depth = 0
        while index < span.count {
            switch span[index] {
            case UInt8(ascii: "\""):
                guard JSONText.skipString(span, &index) != nil else { return false }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return true }
                depth -= 1
                index += 1
            case UInt8(ascii: ",") where depth == 0:
                return true
            case let byte where JSONText.isSpace(byte):
                if depth == 0 { return true }
                index += 1
            default:
                index += 1
                continue
            }
            if depth == 0 { return true }
        }
        return false
    }

    private static func afterSpace(_ span: Span<UInt8>, _ start: Int) -> Int {
        var index = start
        while index < span.count, JSONText.isSpace(span[index]) { index += 1 }
        return min(index, span.count - 1)
    }
}

/// The outermost level of a JSON dictionary: each key with its value as it stands in the text, so that what is only
/// passed on is passed on unchanged.
package struct JSONObject {
    private let text: [UInt8]
    private let values: [String: Range<Int>]

    /// How many keys are taken note of; lines of the protocols here have about ten.
    package static let maximumKeys = 100

    /// A payload may be the value of a key.
    private static let maximumDepth = Payload.maximumDepth + 1

    /// - Returns: nil when the text is not a dictionary of at most ``maximumKeys`` keys.
    package init?(_ text: [UInt8]) {
        // It is read twice: once whole, by the one reader that checks everything, and once for the keys.
        var scanner = PayloadScanner(maximumDepth: Self.maximumDepth)
        guard scanner.scan(text.span) == nil, let values = Self.members(of: text) else { return nil }
        self.text = text
        self.values = values
    }

    /// The value's own text; nil where the key is missing.
    package subscript(raw key: String) -> [UInt8]? {
        values[key].map { Array(text[$0]) }
    }

    /// A whole number that is not negative; nil where the value is anything else.
    package subscript(number key: String) -> UInt64? {
        self[raw: key].flatMap { UInt64(String(decoding: $0, as: UTF8.self)) }
    }

    /// Text without escapes, as identifiers are; nil where the value is anything else.
    package subscript(plain key: String) -> String? {
        guard let value = self[raw: key], value.count >= 2, value.first == UInt8(ascii: "\""),
            !value.contains(UInt8(ascii: "\\"))
        else { return nil }
        return String(decoding: value.dropFirst().dropLast(), as: UTF8.self)
    }

    private static func members(of text: [UInt8]) -> [String: Range<Int>]? {
        let span = text.span
        var values: [String: Range<Int>] = [:]
        var index = afterSpace(span, 0) + 1
        while true {
            index = afterSpace(span, index)
            if span[index] == UInt8(ascii: "}") { return values }
            if span[index] == UInt8(ascii: ",") { index = afterSpace(span, index + 1) }
            guard let key = JSONText.skipString(span, &index), values.count < maximumKeys else { return nil }
            index = afterSpace(span, afterSpace(span, index) + 1)
            let start = index
            guard skipValue(span, &index) else { return nil }
            values[String(decoding: text[key], as: UTF8.self)] = start..<index
        }
    }

    /// Moves past a value of a text that has been checked: brackets are counted, strings are skipped.
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

/// The outermost level of a JSON dictionary: each key with the text of its value. Values that are only passed on stay
/// unchanged.
package struct JSONObject {
    private let text: [UInt8]
    private let values: [ExactText: Range<Int>]
    private let rules: Rules

    /// Which dictionaries are read.
    package enum Rules: Sendable {
        /// At most ``maximumKeys`` keys, and none of them twice, also if the two are escaped differently: other readers
        /// keep one of the two values (RFC 8259, 4), and it is not defined which.
        case ofProtocol
        /// As ``JSONValue`` reads a payload: any number of keys, and of a key that is there twice the last value.
        case ofPayload
    }

    /// The most keys that a dictionary of our protocols may have. Lines have about ten.
    package static let maximumKeys = 100

    /// The deepest nesting: one level more than a payload may have, because a payload can be the value of a key.
    private static let maximumDepth = Payload.maximumDepth + 1

    /// - Returns: nil if the text is not a dictionary that the rules allow.
    package init?(_ text: [UInt8], _ rules: Rules = .ofProtocol) {
        // Scans the text twice: first to check all of it, then to find the keys.
        var scanner = PayloadScanner(maximumDepth: Self.maximumDepth)
        guard scanner.scan(text.span) == nil, let values = Self.members(of: text, rules) else { return nil }
        self.text = text
        self.values = values
        self.rules = rules
    }

    /// Reads what a person or a program has written, such as the body of a request or the line of a file. A byte order mark is
    /// ignored.
    /// - Returns: nil if the text is not a dictionary of the protocol: ``refusal(of:as:)`` says why.
    package init?(document text: [UInt8]) { self.init(JSONValue.withoutMark(text)) }

    /// Why a text is not a dictionary of the protocol, in a sentence.
    /// - Parameter subject: what was read, such as "The body".
    package static func refusal(of text: [UInt8], as subject: String) -> String {
        do throws(JSONFault) {
            guard case .object(let members) = try JSONValue(document: text, maximumDepth: maximumDepth) else {
                return "\(subject) is not a JSON dictionary."
            }
            return members.count > maximumKeys
                ? "\(subject) has more than \(maximumKeys) keys."
                : "\(subject) cannot be read."
        } catch {
            return error.detail(of: subject)
        }
    }

    /// All keys, in the order of their code units.
    package var keys: [String] { values.keys.sorted().map(\.text) }

    /// The value's own text; nil if the key is missing.
    package subscript(raw key: String) -> [UInt8]? {
        values[ExactText(key)].map { Array(text[$0]) }
    }

    /// A whole number that is not negative; nil if the value is anything else.
    package subscript(number key: String) -> UInt64? {
        self[raw: key].flatMap { UInt64(String(decoding: $0, as: UTF8.self)) }
    }

    /// Any number; nil if the value is anything else, or too large.
    package subscript(double key: String) -> Double? { self[raw: key].flatMap(Self.number) }

    /// A text with its escapes resolved; nil if the value is anything else.
    package subscript(text key: String) -> String? {
        guard let value = values[ExactText(key)], text[value.lowerBound] == UInt8(ascii: "\"") else { return nil }
        return JSONText.unescaped(text.span, (value.lowerBound + 1)..<(value.upperBound - 1))
    }

    /// A dictionary; nil if the value is anything else.
    package subscript(object key: String) -> JSONObject? { self[raw: key].flatMap { JSONObject($0, rules) } }

    /// Whether the value switches something on; see ``JSONValue/isOn``.
    package func isOn(_ key: String) -> Bool { self[raw: key].flatMap { JSONValue(any: $0)?.isOn } ?? false }

    /// The value of a text that is exactly one JSON number (RFC 8259, 6); nil for anything else, or if it is too large.
    package static func number(_ text: [UInt8]) -> Double? {
        JSONNumber(String(decoding: text, as: UTF8.self))?.double
    }

    private static func members(of text: [UInt8], _ rules: Rules) -> [ExactText: Range<Int>]? {
        let span = text.span
        let maximumKeys = rules == .ofProtocol ? maximumKeys : .max
        var values: [ExactText: Range<Int>] = [:]
        var index = afterSpace(span, 0) + 1
        while true {
            index = afterSpace(span, index)
            if span[index] == UInt8(ascii: "}") { return values }
            if span[index] == UInt8(ascii: ",") { index = afterSpace(span, index + 1) }
            guard let characters = JSONText.skipString(span, &index), values.count < maximumKeys else { return nil }
            let key = ExactText(JSONText.unescaped(span, characters))
            index = afterSpace(span, afterSpace(span, index) + 1)
            let start = index
            guard skipValue(span, &index), values.updateValue(start..<index, forKey: key) == nil || rules == .ofPayload
            else { return nil }
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

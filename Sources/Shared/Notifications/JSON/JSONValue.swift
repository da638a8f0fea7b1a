/// A JSON value. It keeps numbers as they were written, and compares texts and keys by their code units.
///
/// ```swift
/// let score: JSONValue = ["home": 2, "away": 1, "final": false]
/// ```
///
/// Two values are equal if JSON says the same with them: 1 and 1.0 are equal, and the order of members does not matter.
/// The texts é (U+00E9) and e with U+0301 differ.
public enum JSONValue: Sendable {
    case null
    case bool(Bool)
    /// An integer of 64 bits. A reader uses this case for numbers without a fraction and an exponent.
    case integer(Int64)
    /// Any other number, with its digits.
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONMembers)

    /// A number that fits into 64 bits.
    public static func integer(_ value: Int) -> JSONValue { .integer(Int64(value)) }  // fits: Int has 64 bits

    /// A number. JSON cannot write one that is infinite or NaN: its text is null, and a payload with it is refused.
    public static func number(_ value: Double) -> JSONValue {
        if let integer = Int64(exactly: value) { return .integer(integer) }
        return .number(JSONNumber(checked: "\(value)"))
    }

    /// Whether JSON can write all numbers in it.
    package var isWritable: Bool {
        switch self {
        case .number(let number): number.isFinite
        case .array(let values): values.allSatisfy(\.isWritable)
        case .object(let members): members.values.allSatisfy(\.isWritable)
        case .null, .bool, .integer, .string: true
        }
    }

    /// An object with the members of a dictionary.
    public static func object(_ members: [String: JSONValue]) -> JSONValue { .object(JSONMembers(members)) }

    /// The name of `object` in version 0.1.
    @available(*, deprecated, renamed: "object")
    public static func dictionary(_ members: [String: JSONValue]) -> JSONValue { .object(members) }

    /// The name of its type in JSON Schema.
    package var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .integer: "integer"
        case .number: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }

    /// The members of an object; empty for any other value.
    package var members: JSONMembers { if case .object(let members) = self { members } else { [:] } }

    /// The elements of an array; empty for any other value.
    package var elements: [JSONValue] { if case .array(let elements) = self { elements } else { [] } }

    /// The text; nil for any other value.
    package var string: String? { if case .string(let text) = self { text } else { nil } }

    /// The number, with its digits; nil for any other value.
    package var number: JSONNumber? {
        switch self {
        case .integer(let value): JSONNumber(value)
        case .number(let number): number
        default: nil
        }
    }

    /// The nearest `Double`, whether the JSON has the number as an integer or with a fraction; nil for any other value, and
    /// for a number that is too large.
    package var double: Double? { number?.double }

    /// The integer of 64 bits, however it is written: 1.0 is one (JSON Schema, 6.1.1); nil for any other value.
    package var int64: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let number): number.int64
        default: nil
        }
    }

    /// Whether the value switches something on, such as `content-available`: it is `true`, or the number 1 however it is
    /// written. The service and devices decide with this one rule what a silent notification is.
    package var isOn: Bool {
        switch self {
        case .bool(let isTrue): isTrue
        default: int64 == 1
        }
    }
}

// MARK: - Equality

extension JSONValue: Hashable {
    public static func == (one: JSONValue, other: JSONValue) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.integer(let one), .integer(let other)): one == other
        case (.integer, .number), (.number, .integer), (.number, .number): one.number == other.number
        case (.string(let one), .string(let other)): one.isSame(as: other)
        case (.array(let one), .array(let other)): one == other
        case (.object(let one), .object(let other)): one == other
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .integer, .number: hasher.combine(number)
        case .string(let text): hasher.combine(text)
        case .array(let values): hasher.combine(values)
        case .object(let members): hasher.combine(members)
        }
    }

    /// Whether a value contains what this one asks for. Objects match by their keys, recursively, and may have more keys.
    /// Other values have to be equal.
    package func matches(_ other: JSONValue) -> Bool {
        guard case (.object(let wanted), .object(let present)) = (self, other) else { return self == other }
        return wanted.allSatisfy { key, value in present[key].map(value.matches) ?? false }
    }
}

// There is no `nil` for null: a comparison of an optional value with `nil` could mean either.
extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = JSONValue.number(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// If a key is given twice, the last value is used.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONMembers(lastOf: elements))
    }
}

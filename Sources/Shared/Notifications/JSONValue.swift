/// A JSON value that can be written as a literal.
///
/// ```swift
/// let score: JSONValue = ["home": 2, "away": 1, "final": false]
/// ```
public enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// A number that fits into 64 bits.
    public static func integer(_ value: Int) -> JSONValue { .integer(Int64(value)) }

    /// The name of ``object(_:)`` in version 0.1.
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
    package var members: [String: JSONValue] { if case .object(let members) = self { members } else { [:] } }

    /// The elements of an array; empty for any other value.
    package var elements: [JSONValue] { if case .array(let elements) = self { elements } else { [] } }

    /// The text; nil for any other value.
    package var string: String? { if case .string(let text) = self { text } else { nil } }

    /// The number, whether the JSON has it as an integer or with a fraction; nil for any other value.
    package var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }
}

extension JSONValue: Codable {
    /// The largest depth of a value that is decoded: a payload's of 64 levels, with the documents around it.
    private static let maximumCodingDepth = 80

    public init(from decoder: any Decoder) throws {
        // Decoding takes more than linear time in the depth, so it is bounded.
        guard decoder.codingPath.count <= Self.maximumCodingDepth else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: [], debugDescription: "The JSON is nested too deeply."))
        }
        let container = try decoder.singleValueContainer()
        // Bool comes first: numbers do not decode as Bool.
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let values): try container.encode(values)
        }
    }
}

// There is no `nil` for null: a comparison of an optional value with `nil` could mean either.
extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// If a key is given twice, the last value is used.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}

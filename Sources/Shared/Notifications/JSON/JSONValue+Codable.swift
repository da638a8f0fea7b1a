extension JSONValue {
    /// Decodes a value of a type that declares how, from what was read. Numbers and keys are those of this value.
    package func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try JSONValueDecoder(value: self, codingPath: []).value(type)
    }

    /// Decodes a value from an answer, or from a file that a program has written; see ``init(answer:maximumDepth:)``.
    package static func decode<Value: Decodable>(
        _ text: some Sequence<UInt8>,
        as type: Value.Type = Value.self,
    ) throws -> Value {
        do {
            return try JSONValue(answer: Array(text)).decoded(as: type)
        } catch let fault as JSONFault {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: [], debugDescription: fault.detail(of: "The text")))
        }
    }

    /// Encodes a value of a type that declares how.
    /// - Parameter special: the JSON of a value that is not written as its type says; nil for others.
    package init(
        encoding value: some Encodable,
        special: @escaping (any Encodable) -> JSONValue? = { _ in nil },
    ) throws {
        let box = JSONValueEncoder.Box()
        try JSONValueEncoder(box: box, codingPath: [], special: special).encode(value)
        self = box.value
    }
}

extension JSONValue: Codable {
    /// The largest depth of a value that another library decodes: a payload's of 64 levels, with the documents around it.
    private static let maximumCodingDepth = 80

    /// Decodes a value. The decoder of another library may round numbers that do not fit into 128 bits or into a `Double`.
    public init(from decoder: any Decoder) throws {
        if let decoder = decoder as? JSONValueDecoder {
            self = decoder.value
            return
        }
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
        } else if let value = try? container.decode(Int128.self) {
            self = .number(JSONNumber(value))
        } else if let value = try? container.decode(Double.self) {
            self = JSONValue.number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            let members = try container.decode([String: JSONValue].self)
            self = JSONValue.object(members)
        }
    }

    /// Encodes the value.
    /// - Throws: if the encoder of another library would write another number.
    public func encode(to encoder: any Encoder) throws {
        if let encoder = encoder as? JSONValueEncoder {
            encoder.box.kind = .value(self)
            return
        }
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let number): try number.encode(to: &container)
        case .string(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let members):
            var container = encoder.container(keyedBy: JSONKey.self)
            for (key, value) in members { try container.encode(value, forKey: JSONKey(stringValue: key)) }
        }
    }
}

extension JSONNumber {
    fileprivate func encode(to container: inout any SingleValueEncodingContainer) throws {
        if let value = int64 { return try container.encode(value) }
        if let value = Int128(digits) { return try container.encode(value) }
        guard let value = double, JSONNumber(value) == self else {
            throw EncodingError.invalidValue(
                digits,
                EncodingError.Context(
                    codingPath: container.codingPath, debugDescription: "The number \(digits) would be rounded."))
        }
        try container.encode(value)
    }
}

/// A key of an object, or the index of an element.
struct JSONKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
    init(intValue: Int) { (stringValue, self.intValue) = ("\(intValue)", intValue) }
}

/// Decodes what was read as a ``JSONValue``.
struct JSONValueDecoder: Decoder {
    let value: JSONValue
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = value else { throw mismatch([String: JSONValue].self) }
        return KeyedDecodingContainer(Keyed(members: members, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw mismatch([JSONValue].self) }
        return Unkeyed(elements: elements, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { Single(decoder: self) }

    // MARK: Values

    func value<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let simple: (any Decodable)?
        switch type {
        case is JSONValue.Type: simple = value
        case is String.Type: simple = value.string
        case is Bool.Type: if case .bool(let isTrue) = value { simple = isTrue } else { simple = nil }
        case is Double.Type: simple = value.double
        case is Float.Type: simple = value.double.map { Float($0) }
        case let type as any (FixedWidthInteger & Decodable).Type: simple = integer(type)
        default: return try Value(from: self)
        }
        guard let simple = simple as? Value else { throw mismatch(type) }
        return simple
    }

    /// The number, if the type can hold it.
    private func integer<Value: FixedWidthInteger & Decodable>(_ type: Value.Type) -> (any Decodable)? {
        guard let number = value.number else { return nil }
        return Value(number.digits) ?? number.int64.flatMap { Value(exactly: $0) }
    }

    private func mismatch(_ type: any Any.Type) -> DecodingError {
        .typeMismatch(
            type,
            DecodingError.Context(
                codingPath: codingPath, debugDescription: "The value is of the type \(value.typeName)."))
    }
}

// A generic function fulfils the requirements of the containers' protocols for each simple type.
extension JSONValueDecoder {
    private struct Single: SingleValueDecodingContainer {
        let decoder: JSONValueDecoder
        var codingPath: [any CodingKey] { decoder.codingPath }

        func decodeNil() -> Bool { decoder.value == .null }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoder.value(type) }
    }

    private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let members: JSONMembers
        let codingPath: [any CodingKey]
        var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

        func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

        func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).value == .null }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            try decoder(key).value(type)
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key,
        ) throws -> KeyedDecodingContainer<Nested> { try decoder(key).container(keyedBy: type) }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try decoder(key).unkeyedContainer()
        }

        func superDecoder() throws -> any Decoder {
            JSONValueDecoder(value: members["super"] ?? .null, codingPath: codingPath + [JSONKey(stringValue: "super")])
        }

        func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }

        private func decoder(_ key: Key) throws -> JSONValueDecoder {
            guard let value = members[key.stringValue] else {
                throw DecodingError.keyNotFound(
                    key,
                    DecodingError.Context(
                        codingPath: codingPath, debugDescription: "The key \(key.stringValue) is missing."))
            }
            return JSONValueDecoder(value: value, codingPath: codingPath + [key])
        }
    }

    private struct Unkeyed: UnkeyedDecodingContainer {
        let elements: [JSONValue]
        let codingPath: [any CodingKey]
        private(set) var currentIndex = 0

        init(elements: [JSONValue], codingPath: [any CodingKey]) {
            (self.elements, self.codingPath) = (elements, codingPath)
        }

        var count: Int? { elements.count }
        var isAtEnd: Bool { currentIndex >= elements.count }

        mutating func decodeNil() throws -> Bool {
            guard !isAtEnd, elements[currentIndex] == .null else { return false }
            currentIndex += 1
            return true
        }

        mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next { try $0.value(type) } }

        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) throws -> KeyedDecodingContainer<Nested> { try next { try $0.container(keyedBy: type) } }

        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            try next { try $0.unkeyedContainer() }
        }

        mutating func superDecoder() throws -> any Decoder { try next { $0 } }

        /// Reads the next element. If this fails, it is still the next one.
        private mutating func next<Result>(_ read: (JSONValueDecoder) throws -> Result) throws -> Result {
            let path = codingPath + [JSONKey(intValue: currentIndex)]
            guard !isAtEnd else {
                throw DecodingError.valueNotFound(
                    Result.self, DecodingError.Context(codingPath: path, debugDescription: "The list has ended."))
            }
            let result = try read(JSONValueDecoder(value: elements[currentIndex], codingPath: path))
            currentIndex += 1
            return result
        }
    }
}

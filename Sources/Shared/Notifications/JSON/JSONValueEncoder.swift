/// Encodes a value as a ``JSONValue``.
struct JSONValueEncoder: Encoder {
    /// What was encoded so far.
    final class Box {
        enum Kind { case nothing, array, object, value(JSONValue) }

        var kind = Kind.nothing
        private(set) var elements: [Box] = []
        private var members: [(key: String, box: Box)] = []

        var value: JSONValue {
            switch kind {
            case .nothing: [:]
            case .value(let value): value
            case .array: .array(elements.map(\.value))
            case .object: .object(JSONMembers(lastOf: members.map { ($0.key, $0.box.value) }))
            }
        }

        func add(_ key: String) -> Box {
            let box = Box()
            members.append((key, box))
            return box
        }

        func append() -> Box {
            let box = Box()
            elements.append(box)
            return box
        }
    }

    let box: Box
    let codingPath: [any CodingKey]
    /// The JSON of a value that is not written as its type says; nil for others.
    let special: (any Encodable) -> JSONValue?
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        box.kind = .object
        return KeyedEncodingContainer(Keyed<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        box.kind = .array
        return Unkeyed(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { Single(encoder: self) }

    func encode(_ value: some Encodable) throws {
        guard let simple = try special(value) ?? simple(value) else { return try value.encode(to: self) }
        box.kind = .value(simple)
    }

    /// The JSON of a value that has no parts; nil for others.
    private func simple(_ value: some Encodable) throws -> JSONValue? {
        switch value {
        case let value as JSONValue: return value
        case let value as String: return .string(value)
        case let value as Bool: return .bool(value)
        case let value as Double: return try number(value, value)
        case let value as Float: return try number(Double(value), value)
        case let value as any FixedWidthInteger:
            return Int64(exactly: value).map(JSONValue.integer) ?? .number(JSONNumber(value))
        default: return nil
        }
    }

    /// - Parameter value: the number itself, whose description has the fewest digits.
    private func number(
        _ double: Double, _ value: some BinaryFloatingPoint & CustomStringConvertible
    ) throws -> JSONValue {
        guard double.isFinite else {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(codingPath: codingPath, debugDescription: "JSON has no number \(value)."))
        }
        return Int64(exactly: double).map(JSONValue.integer) ?? .number(JSONNumber(checked: "\(value)"))
    }

    private func inside(_ key: any CodingKey, _ box: Box) -> JSONValueEncoder {
        JSONValueEncoder(box: box, codingPath: codingPath + [key], special: special)
    }
}

// A generic function fulfils the requirements of the containers' protocols for each simple type.
extension JSONValueEncoder {
    private struct Single: SingleValueEncodingContainer {
        let encoder: JSONValueEncoder
        var codingPath: [any CodingKey] { encoder.codingPath }

        func encodeNil() { encoder.box.kind = .value(.null) }

        func encode<Value: Encodable>(_ value: Value) throws { try encoder.encode(value) }
    }

    private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let encoder: JSONValueEncoder
        var codingPath: [any CodingKey] { encoder.codingPath }

        func encodeNil(forKey key: Key) { encoder.box.add(key.stringValue).kind = .value(.null) }

        func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try inside(key).encode(value) }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key,
        ) -> KeyedEncodingContainer<Nested> { inside(key).container(keyedBy: type) }

        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { inside(key).unkeyedContainer() }

        func superEncoder() -> any Encoder { inside(JSONKey(stringValue: "super")) }

        func superEncoder(forKey key: Key) -> any Encoder { inside(key) }

        private func inside(_ key: some CodingKey) -> JSONValueEncoder {
            encoder.inside(key, encoder.box.add(key.stringValue))
        }
    }

    private struct Unkeyed: UnkeyedEncodingContainer {
        let encoder: JSONValueEncoder
        var codingPath: [any CodingKey] { encoder.codingPath }
        var count: Int { encoder.box.elements.count }

        func encodeNil() { encoder.box.append().kind = .value(.null) }

        func encode<Value: Encodable>(_ value: Value) throws { try next().encode(value) }

        func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
            next().container(keyedBy: type)
        }

        func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }

        func superEncoder() -> any Encoder { next() }

        private func next() -> JSONValueEncoder { encoder.inside(JSONKey(intValue: count), encoder.box.append()) }
    }
}

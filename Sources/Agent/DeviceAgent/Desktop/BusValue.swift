/// A value of a dictionary from text to variants (`a{sv}`), as far as this program reads them.
enum BusValue: Sendable, Hashable {
    case text(String)
    case bytes([UInt8])
    /// A value of another type.
    case other

    /// The text; nil if it is none.
    var text: String? { if case .text(let text) = self { text } else { nil } }

    /// The type's name on the bus; nil if this program does not write it.
    var signature: String? {
        switch self {
        case .text: "s"
        case .bytes: "ay"
        case .other: nil
        }
    }
}

extension BusReader {
    /// The deepest nesting of types that the specification allows: 32 arrays and 32 structures ("Valid Signatures").
    private static let maximumDepth = 64

    /// A dictionary from text to variants (`a{sv}`). Of a key that is there twice, the last value counts.
    mutating func dictionary() -> [String: BusValue]? {
        guard let length = number().map({ Int(clamping: $0) }) else { return nil }
        align(8)
        guard length <= bytes.count - position else { return nil }
        let end = position + length
        var values: [String: BusValue] = [:]
        while position < end {
            align(8)
            guard let key = text(), let value = variant() else { return nil }
            values[key] = value
        }
        return position == end ? values : nil
    }

    private mutating func variant() -> BusValue? {
        guard let type = signature() else { return nil }
        switch type {
        case "s", "o": return text().map { .text($0) }
        case "ay":
            guard let length = number().map({ Int(clamping: $0) }), length <= bytes.count - position else { return nil }
            let start = position
            skip(length)
            return .bytes(Array(bytes[start..<position]))
        default:
            var rest = Array(type.utf8)[...]
            return skipValue(of: &rest, depth: 0) && rest.isEmpty ? .other : nil
        }
    }

    /// Skips a value of the first type of a signature, and removes the type.
    /// - Returns: false if the type or the value is not valid.
    private mutating func skipValue(of types: inout ArraySlice<UInt8>, depth: Int) -> Bool {
        guard depth < Self.maximumDepth, let type = types.first else { return false }
        switch type {
        case UInt8(ascii: "("), UInt8(ascii: "{"):
            types.removeFirst()
            align(8)
            let end = type == UInt8(ascii: "(") ? UInt8(ascii: ")") : UInt8(ascii: "}")
            while let next = types.first, next != end {
                guard skipValue(of: &types, depth: depth + 1) else { return false }
            }
            return types.popFirst() == end
        case UInt8(ascii: "a"):
            types.removeFirst()
            guard let length = number().map({ Int(clamping: $0) }), let alignment = types.first.flatMap(Self.alignment),
                Self.skipType(&types, depth: depth + 1)
            else { return false }
            align(alignment)
            skip(length)
        case UInt8(ascii: "v"):
            types.removeFirst()
            guard let inner = signature() else { return false }
            var rest = Array(inner.utf8)[...]
            return skipValue(of: &rest, depth: depth + 1) && rest.isEmpty
        case UInt8(ascii: "s"), UInt8(ascii: "o"):
            types.removeFirst()
            return text() != nil
        case UInt8(ascii: "g"):
            types.removeFirst()
            return signature() != nil
        default:
            types.removeFirst()
            guard let size = Self.alignment(type) else { return false }
            align(size)
            skip(size)
        }
        return position <= bytes.count
    }

    /// Removes the first type of a signature.
    private static func skipType(_ types: inout ArraySlice<UInt8>, depth: Int) -> Bool {
        guard depth < maximumDepth, let type = types.popFirst() else { return false }
        switch type {
        case UInt8(ascii: "a"): return skipType(&types, depth: depth + 1)
        case UInt8(ascii: "("), UInt8(ascii: "{"):
            let end = type == UInt8(ascii: "(") ? UInt8(ascii: ")") : UInt8(ascii: "}")
            while let next = types.first, next != end {
                guard skipType(&types, depth: depth + 1) else { return false }
            }
            return types.popFirst() == end
        default: return alignment(type) != nil
        }
    }

    /// The alignment of a type, which is also the size of one that has a fixed size; nil for anything but a type.
    private static func alignment(_ type: UInt8) -> Int? {
        switch type {
        case UInt8(ascii: "y"), UInt8(ascii: "g"), UInt8(ascii: "v"): 1
        case UInt8(ascii: "n"), UInt8(ascii: "q"): 2
        case UInt8(ascii: "b"), UInt8(ascii: "i"), UInt8(ascii: "u"), UInt8(ascii: "h"), UInt8(ascii: "s"),
            UInt8(ascii: "o"), UInt8(ascii: "a"):
            4
        case UInt8(ascii: "x"), UInt8(ascii: "t"), UInt8(ascii: "d"), UInt8(ascii: "("), UInt8(ascii: "{"): 8
        default: nil
        }
    }
}

extension BusWriter {
    /// Writes an array of bytes (`ay`).
    mutating func write(_ content: [UInt8]) {
        write(UInt32(clamping: content.count))
        bytes += content
    }

    /// Writes a dictionary from text to variants (`a{sv}`).
    mutating func writeDictionary(_ values: [(key: String, value: BusValue)]) {
        writeArray(alignment: 8) { array in
            for (key, value) in values {
                if let signature = value.signature { array.writeEntry(key, signature) { $0.write(value) } }
            }
        }
    }

    /// Writes a value. This program writes texts and bytes alone.
    mutating func write(_ value: BusValue) {
        switch value {
        case .text(let text): write(text)
        case .bytes(let bytes): write(bytes)
        case .other: break
        }
    }
}

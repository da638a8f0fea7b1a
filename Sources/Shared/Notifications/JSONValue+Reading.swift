extension JSONValue {
    /// Reads a JSON text (RFC 8259) whose outermost value is a dictionary.
    ///
    /// If a key is there twice, the last value counts, as with most readers. A number that fits neither into 64 bits
    /// nor into a `Double` makes the text unreadable.
    /// - Parameter maximumDepth: how many levels of dictionaries and arrays there may be. The reader recurses.
    /// - Returns: nil if the text is anything else.
    package init?(_ text: [UInt8], maximumDepth: Int = Payload.maximumDepth) {
        self.init(any: text, maximumDepth: maximumDepth)
        guard case .object = self else { return nil }
    }

    /// Reads a JSON text with any outermost value. It takes time in proportion to the length of the text.
    /// - Parameter refusesRepeatedKeys: whether a dictionary with a key twice makes the text unreadable. This is
    ///   necessary if another reader reads the same text: it may take the other of the two values.
    package init?(
        any text: [UInt8],
        maximumDepth: Int = Payload.maximumDepth,
        refusesRepeatedKeys: Bool = false,
    ) {
        var reader = Reader(text: text, levels: maximumDepth, refusesRepeatedKeys: refusesRepeatedKeys)
        guard let value = reader.value(), reader.isAtEnd() else { return nil }
        self = value
    }

    private struct Reader {
        let text: [UInt8]
        /// How many more levels of dictionaries and arrays may begin.
        var levels: Int
        let refusesRepeatedKeys: Bool
        private var index = 0

        init(text: [UInt8], levels: Int, refusesRepeatedKeys: Bool) {
            (self.text, self.levels, self.refusesRepeatedKeys) = (text, levels, refusesRepeatedKeys)
        }

        mutating func isAtEnd() -> Bool {
            skipSpace()
            return index == text.count
        }

        mutating func value() -> JSONValue? {
            skipSpace()
            guard index < text.count else { return nil }
            switch text[index] {
            case UInt8(ascii: "{"): return nested { $0.dictionary() }
            case UInt8(ascii: "["): return nested { $0.array() }
            case UInt8(ascii: "\""): return string().map(JSONValue.string)
            case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): return word()
            default: return number()
            }
        }

        private mutating func nested(_ read: (inout Reader) -> JSONValue?) -> JSONValue? {
            guard levels > 0 else { return nil }
            levels -= 1
            defer { levels += 1 }
            return read(&self)
        }

        /// Moves past what a function of ``JSONText`` recognises.
        private mutating func scan<Result>(_ recognise: (Span<UInt8>, inout Int) -> Result) -> Result {
            var position = index
            defer { index = position }
            return recognise(text.span, &position)
        }

        private mutating func skipSpace() {
            while index < text.count, JSONText.isSpace(text[index]) { index += 1 }
        }

        /// Moves past white space and the expected byte; false if another byte is there.
        private mutating func skip(_ byte: Character) -> Bool {
            skipSpace()
            guard index < text.count, text[index] == byte.asciiValue else { return false }
            index += 1
            return true
        }

        private mutating func dictionary() -> JSONValue? {
            var members: [String: JSONValue] = [:]
            index += 1
            if skip("}") { return .object(members) }
            repeat {
                skipSpace()
                guard let key = string(), skip(":"), let value = value(),
                    members.updateValue(value, forKey: key) == nil || !refusesRepeatedKeys
                else { return nil }
            } while skip(",")
            return skip("}") ? .object(members) : nil
        }

        private mutating func array() -> JSONValue? {
            var elements: [JSONValue] = []
            index += 1
            if skip("]") { return .array(elements) }
            repeat {
                guard let value = value() else { return nil }
                elements.append(value)
            } while skip(",")
            return skip("]") ? .array(elements) : nil
        }

        private mutating func string() -> String? {
            guard index < text.count, text[index] == UInt8(ascii: "\"") else { return nil }
            guard let characters = scan(JSONText.skipString) else { return nil }
            return JSONText.unescaped(text.span, characters)
        }

        private mutating func word() -> JSONValue? {
            let first = text[index]
            guard scan(JSONText.skipWord) else { return nil }
            switch first {
            case UInt8(ascii: "t"): return .bool(true)
            case UInt8(ascii: "f"): return .bool(false)
            default: return .null
            }
        }

        private mutating func number() -> JSONValue? {
            let start = index
            guard scan(JSONText.skipNumber) else { return nil }
            let digits = String(decoding: text[start..<index], as: UTF8.self)
            if let integer = Int64(digits) { return .integer(integer) }
            guard let number = Double(digits), number.isFinite else { return nil }
            return .number(number)
        }
    }
}

extension JSONValue {
    /// Whether a value contains what this one asks for. Dictionaries match by their keys, recursively, and may have
    /// more keys. Other values have to be equal; 1 and 1.0 are the same number.
    package func matches(_ other: JSONValue) -> Bool {
        switch (self, other) {
        case (.object(let wanted), .object(let present)):
            return wanted.allSatisfy { key, value in present[key].map(value.matches) ?? false }
        case (.array(let wanted), .array(let present)):
            return wanted.count == present.count
                && zip(wanted, present).allSatisfy { $0.isEqual(to: $1) }
        default: return isEqual(to: other)
        }
    }

    /// Equality by JSON's rules: 1 and 1.0 are the same number.
    private func isEqual(to other: JSONValue) -> Bool {
        switch (self, other) {
        case (.integer(let one), .number(let two)), (.number(let two), .integer(let one)): return Double(one) == two
        case (.array(let one), .array(let two)):
            return one.count == two.count && zip(one, two).allSatisfy { $0.isEqual(to: $1) }
        case (.object(let one), .object(let two)):
            return one.count == two.count
                && one.allSatisfy { key, value in two[key].map(value.isEqual) ?? false }
        default: return self == other
        }
    }

    /// The value as text, without white space and with the keys in alphabetical order. A number that JSON cannot write
    /// becomes null.
    package var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .number(let value): value.isFinite ? "\(value)" : "null"
        case .string(let value): JSONString.quoted(value)
        case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let values):
            "{"
                + values.sorted { $0.key < $1.key }.map { JSONString.quoted($0.key) + ":" + $0.value.text }
                .joined(separator: ",") + "}"
        }
    }
}

/// Reads a JSON text into a value, by the grammar of ``JSONText``.
struct JSONTextReader {
    private let text: [UInt8]
    private let maximumLevels: Int
    private let refusesRepeatedKeys: Bool
    /// How many more levels of objects and arrays may begin.
    private var levels: Int
    private var index = 0

    init(_ text: [UInt8], levels: Int, refusesRepeatedKeys: Bool) {
        (self.text, maximumLevels, self.levels) = (text, levels, levels)
        self.refusesRepeatedKeys = refusesRepeatedKeys
    }

    /// Reads the whole text.
    mutating func whole() throws(JSONFault) -> JSONValue {
        let value = try value()
        skipSpace()
        guard index == text.count else { throw malformed }
        return value
    }

    private mutating func value() throws(JSONFault) -> JSONValue {
        skipSpace()
        guard index < text.count else { throw malformed }
        switch text[index] {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): return try word()
        default: return try number()
        }
    }

    // MARK: Objects and arrays

    private mutating func begin() throws(JSONFault) {
        guard levels > 0 else { throw JSONFault(cause: .tooDeep(maximumLevels), pointer: "") }
        levels -= 1
        index += 1
    }

    private mutating func object() throws(JSONFault) -> JSONValue {
        try begin()
        defer { levels += 1 }
        if skip("}") { return .object(JSONMembers()) }
        var members: [(key: String, value: JSONValue)] = []
        repeat {
            skipSpace()
            let key = try string()
            try require(":")
            members.append((key, try inside(key) { reader throws(JSONFault) in try reader.value() }))
        } while skip(",")
        try require("}")
        var repeated: String?
        let unique = JSONMembers(members, repeated: &repeated)
        if refusesRepeatedKeys, let repeated {
            throw JSONFault(cause: .repeatedKey(repeated), pointer: "/" + JSONValue.escaped(repeated))
        }
        return .object(unique)
    }

    private mutating func array() throws(JSONFault) -> JSONValue {
        try begin()
        defer { levels += 1 }
        if skip("]") { return .array([]) }
        var elements: [JSONValue] = []
        repeat {
            elements.append(try inside("\(elements.count)") { reader throws(JSONFault) in try reader.value() })
        } while skip(",")
        try require("]")
        return .array(elements)
    }

    /// Adds a key or an index to the place of a fault inside.
    private mutating func inside(
        _ place: @autoclosure () -> String,
        _ read: (inout JSONTextReader) throws(JSONFault) -> JSONValue,
    ) throws(JSONFault) -> JSONValue {
        do throws(JSONFault) {
            return try read(&self)
        } catch {
            if case .malformed = error.cause { throw error }
            throw JSONFault(cause: error.cause, pointer: "/" + JSONValue.escaped(place()) + error.pointer)
        }
    }

    // MARK: Tokens

    private mutating func string() throws(JSONFault) -> String {
        guard index < text.count, text[index] == UInt8(ascii: "\""), let characters = scan(JSONText.skipString) else {
            throw malformed
        }
        return JSONText.unescaped(text.span, characters)
    }

    private mutating func word() throws(JSONFault) -> JSONValue {
        let first = text[index]
        guard scan(JSONText.skipWord) else { throw malformed }
        switch first {
        case UInt8(ascii: "t"): return .bool(true)
        case UInt8(ascii: "f"): return .bool(false)
        default: return .null
        }
    }

    private mutating func number() throws(JSONFault) -> JSONValue {
        let start = index
        guard scan(JSONText.skipNumber) else { throw malformed }
        let digits = String(decoding: text[start..<index], as: UTF8.self)
        // The text of -0 would not be the same.
        if let integer = Int64(digits), integer != 0 || digits == "0" { return .integer(integer) }
        return .number(JSONNumber(checked: digits))
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
    private mutating func skip(_ byte: Unicode.Scalar) -> Bool {
        skipSpace()
        guard index < text.count, text[index] == UInt8(ascii: byte) else { return false }
        index += 1
        return true
    }

    private mutating func require(_ byte: Unicode.Scalar) throws(JSONFault) {
        guard skip(byte) else { throw malformed }
    }

    /// The fault that the byte here does not belong there.
    private var malformed: JSONFault {
        let offset = min(index, text.count)
        let newLine = UInt8(ascii: "\n")
        let line = text.contains(newLine) ? text[..<offset].count { $0 == newLine } + 1 : nil
        return JSONFault(cause: .malformed(offset: offset, line: line), pointer: "")
    }
}

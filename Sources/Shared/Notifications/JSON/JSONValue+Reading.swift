extension JSONValue {
    /// Reads a payload or another JSON text (RFC 8259) whose outermost value is an object.
    ///
    /// This is the one reading of what the service accepts: if a key is there twice, the last value counts. Half a
    /// character is U+FFFD. Numbers keep their digits. It takes time in proportion to the length of the text.
    /// - Parameter maximumDepth: how many levels of objects and arrays there may be. The reader recurses.
    /// - Returns: nil if the text is anything else.
    package init?(_ text: [UInt8], maximumDepth: Int = Payload.maximumDepth) {
        self.init(any: text, maximumDepth: maximumDepth)
        guard case .object = self else { return nil }
    }

    /// Reads a JSON text with any outermost value.
    package init?(any text: [UInt8], maximumDepth: Int = Payload.maximumDepth) {
        var reader = JSONTextReader(text, levels: maximumDepth, refusesRepeatedKeys: false)
        guard let value = try? reader.whole() else { return nil }
        self = value
    }

    /// Reads a document that a person or a program has written, such as the body of a request or a file. A byte order mark
    /// before it is ignored (RFC 8259, 8.1). A key that an object has twice is a fault: its author means one of the
    /// values, and nobody knows which.
    package init(document text: [UInt8], maximumDepth: Int) throws(JSONFault) {
        var reader = JSONTextReader(Self.withoutMark(text), levels: maximumDepth, refusesRepeatedKeys: true)
        self = try reader.whole()
    }

    /// Reads the answer of a server, or a file that a program has written. If a key is there twice, the last value counts,
    /// because an answer may contain a payload. A byte order mark before it is ignored.
    package init(answer text: [UInt8], maximumDepth: Int = answerDepth) throws(JSONFault) {
        var reader = JSONTextReader(Self.withoutMark(text), levels: maximumDepth, refusesRepeatedKeys: false)
        self = try reader.whole()
    }

    /// How many levels an answer may have: a payload of 64, in a request of the journal, in a list.
    package static let answerDepth = Payload.maximumDepth + 8

    /// The text without the byte order mark with which some editors begin a file.
    package static func withoutMark(_ text: [UInt8]) -> [UInt8] {
        text.starts(with: JSONText.mark) ? Array(text.dropFirst(JSONText.mark.count)) : text
    }
}

extension JSONValue {
    /// The value as text, without white space. The members of an object are in the order of their keys' code units.
    package var text: String {
        var text = ""
        write(to: &text)
        return text
    }

    /// The same text for all values that are equal: 1, 1.0 and 10e-1 are written alike.
    package var canonicalText: String {
        var text = ""
        write(to: &text, isCanonical: true)
        return text
    }

    private func write(to text: inout String, isCanonical: Bool = false) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += isCanonical ? JSONNumber(value).canonicalDigits : String(value)
        case .number(let number) where !number.isFinite: text += "null"
        case .number(let number): text += isCanonical ? number.canonicalDigits : number.digits
        case .string(let value): text += JSONString.quoted(value)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.write(to: &text, isCanonical: isCanonical)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                text += JSONString.quoted(member.key) + ":"
                member.value.write(to: &text, isCanonical: isCanonical)
            }
            text += "}"
        }
    }

    /// The value as text for people, with a line for each member and each element.
    package func indentedText(_ indentation: String = "") -> String {
        let inner = indentation + "  "
        switch self {
        case .array(let values) where !values.isEmpty:
            return "[\n" + values.map { inner + $0.indentedText(inner) }.joined(separator: ",\n") + "\n\(indentation)]"
        case .object(let members) where !members.isEmpty:
            let lines = members.map { inner + JSONString.quoted($0.key) + " : " + $0.value.indentedText(inner) }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(indentation)}"
        default: return text
        }
    }
}

import Notifications

/// A text with the names of values in double braces: `Hello {{name}}`.
struct TemplateText: Sendable, Hashable {
    enum Part: Sendable, Hashable {
        case text(String)
        case value(String)
    }

    /// The longest name of a value, in bytes.
    static let maximumNameBytes = 64

    let parts: [Part]

    /// What is wrong with a template.
    struct Fault: Error, Sendable, Hashable {
        let cause: String
    }

    init(_ text: String) throws(Fault) {
        var parts: [Part] = []
        var rest = Substring(text)
        while let begin = rest.firstRange(of: "{{") {
            if begin.lowerBound > rest.startIndex { parts.append(.text(String(rest[..<begin.lowerBound]))) }
            rest = rest[begin.upperBound...]
            guard let end = rest.firstRange(of: "}}") else {
                throw Fault(cause: "The text has {{ without }} after it.")
            }
            let words = rest[..<end.lowerBound].split(separator: " ")
            guard words.count == 1, let name = words.first.map(String.init), Self.isName(name) else {
                throw Fault(
                    cause:
                        "Between {{ and }} there has to be a name: 1 to \(Self.maximumNameBytes) letters, digits and _ - ."
                )
            }
            parts.append(.value(name))
            rest = rest[end.upperBound...]
        }
        if !rest.isEmpty { parts.append(.text(String(rest))) }
        self.parts = parts
    }

    static func isName(_ text: String) -> Bool {
        text.isName(maximumBytes: maximumNameBytes)
    }

    /// Whether the text contains no names.
    var isConstant: Bool { parts.allSatisfy { if case .text = $0 { true } else { false } } }

    /// Returns the text with the names replaced by values.
    /// - Parameter value: returns the value for a name; nil if there is none.
    /// - Throws: ``MissingValue``, or ``TextTooLarge`` as soon as the text is larger than any payload.
    func render(_ value: (String) throws -> JSONValue?) throws -> JSONValue {
        // If the text is only one name, the value keeps its type, so that a badge stays a number.
        if parts.count == 1, case .value(let name) = parts[0] {
            guard let value = try value(name) else { throw MissingValue(name: name) }
            return value
        }
        var text = ""
        for part in parts {
            switch part {
            case .text(let fixed): text += fixed
            case .value(let name):
                guard let value = try value(name) else { throw MissingValue(name: name) }
                text += value.string ?? value.text
            }
            guard text.utf8.count <= Payload.maximumVoIPBytes else { throw TextTooLarge() }
        }
        return .string(text)
    }
}

/// A recipient has no value for a name in the template.
struct MissingValue: Error {
    let name: String
}

/// The texts for one recipient are larger than any payload.
struct TextTooLarge: Error, CustomStringConvertible {
    let description = "With this recipient's values, the texts are larger than \(Payload.maximumVoIPBytes) bytes."
}

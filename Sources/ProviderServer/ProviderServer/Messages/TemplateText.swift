import Notifications

/// A text with the names of values in double braces: `Hello {{name}}`. Four opening braces stand for two: `{{{{` is the text
/// `{{`. Other braces stand for themselves.
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
            Self.add(rest[..<begin.lowerBound], to: &parts)
            rest = rest[begin.upperBound...]
            if rest.hasPrefix("{{") {
                Self.add("{{", to: &parts)
                rest = rest.dropFirst(2)
                continue
            }
            guard let end = rest.firstRange(of: "}}") else {
                throw Fault(cause: "The text has {{ without }} after it; {{{{ stands for {{ itself.")
            }
            let words = rest[..<end.lowerBound].split(separator: " ")
            guard words.count == 1, let name = words.first.map(String.init), Self.isName(name) else {
                throw Fault(
                    cause:
                        "Between {{ and }} there has to be a name: 1 to \(Self.maximumNameBytes) letters, digits and _ - . "
                        + "For the text {{ itself write {{{{."
                )
            }
            parts.append(.value(name))
            rest = rest[end.upperBound...]
        }
        Self.add(rest, to: &parts)
        self.parts = parts
    }

    /// Adds a text, which becomes one with the text before it.
    private static func add(_ text: Substring, to parts: inout [Part]) {
        guard !text.isEmpty else { return }
        if case .text(let before)? = parts.last {
            parts[parts.count - 1] = .text(before + text)
        } else {
            parts.append(.text(String(text)))
        }
    }

    static func isName(_ text: String) -> Bool {
        text.isName(maximumBytes: maximumNameBytes)
    }

    /// The text, if it contains no names; nil otherwise.
    var constant: String? {
        switch (parts.first, parts.count) {
        case (nil, _): ""
        case (.text(let text)?, 1): text
        default: nil
        }
    }

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

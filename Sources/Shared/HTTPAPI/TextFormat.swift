import Notifications

/// A kind of text in a request: a pattern for the API's description, and a function that checks a text.
///
/// The pattern and the function allow the same texts. Clients can use the pattern; the server uses the function, which
/// calls the types that the rest of the server uses.
package struct TextFormat: Sendable {
    /// Describes the format in error messages, after the words "has to be".
    package let name: String
    /// A regular expression (ECMA 262) for OpenAPI; nil if no pattern can describe the format.
    package let pattern: String?
    /// The allowed lengths, in characters.
    package let length: ClosedRange<Int>?
    package let allows: @Sendable (String) -> Bool

    package init(
        _ name: String,
        pattern: String? = nil,
        length: ClosedRange<Int>? = nil,
        allows: @escaping @Sendable (String) -> Bool,
    ) {
        self.name = name
        self.pattern = pattern
        self.length = length
        self.allows = allows
    }
}

extension TextFormat {
    package static let any = TextFormat("a string") { _ in true }

    package static let accountID = TextFormat(AccountIDs.form, pattern: "^[A-Za-z0-9_-]{1,64}$") {
        TeamID(rawValue: $0) != nil
    }

    package static let bundleID = TextFormat(
        "a bundle ID: 1 to 200 letters, digits, hyphens and periods, without a period at either end",
        pattern: "^[A-Za-z0-9-](?:[A-Za-z0-9.-]{0,198}[A-Za-z0-9-])?$"
    ) { BundleID(rawValue: $0) != nil }

    package static let environment = oneOf(Environment.allCases.map(\.rawValue))

    package static let serial = TextFormat("a serial: 32 hexadecimal digits", pattern: "^[0-9a-fA-F]{32}$") {
        CertificateSerial($0) != nil
    }

    package static let hexadecimal = TextFormat("hexadecimal digits", pattern: "^[0-9a-fA-F]+$") {
        !$0.isEmpty && $0.utf8.allSatisfy { Hexadecimal.value(of: $0) != nil }
    }

    package static let uuid = TextFormat(
        "a UUID",
        pattern: "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
    ) { NotificationID($0) != nil }

    /// A text in PEM. What is wrong with another one, its only reader says.
    package static let pem = upTo(bytes: APILimits.pemBytes)

    /// A text of 1 to `maximum` bytes on one line. Control characters are not allowed, because a terminal that lists
    /// the names would interpret them.
    package static func line(maximumBytes maximum: Int) -> TextFormat {
        TextFormat(
            "1 to \(maximum) bytes on one line, without control characters",
            pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]+$", length: 1...maximum
        ) { text in
            (1...maximum).contains(text.utf8.count) && !text.hasControlCharacters
        }
    }

    package static func upTo(bytes maximum: Int) -> TextFormat {
        TextFormat("at most \(maximum) bytes", length: 0...maximum) { $0.utf8.count <= maximum }
    }

    package static func oneOf(_ choices: [String]) -> TextFormat {
        TextFormat(
            "one of " + choices.joined(separator: ", "), pattern: "^(?:\(choices.joined(separator: "|")))$"
        ) { choices.contains($0) }
    }
}

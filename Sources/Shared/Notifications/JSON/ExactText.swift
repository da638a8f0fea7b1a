/// A text that is compared and sorted by its code units.
///
/// `String` compares by canonical equivalence (Unicode, 3.7): for it, é (U+00E9) and e with U+0301 are the same. JSON
/// compares keys code unit by code unit (RFC 8259, 8.3), and so do both databases. Use this type for texts from outside
/// that are keys of a dictionary or elements of a set, and ``isSame(as:)`` to compare two of them.
package struct ExactText: Sendable, Hashable, Comparable, ExpressibleByStringLiteral, CustomStringConvertible {
    package let text: String

    package init(_ text: String) { self.text = text }

    package init(stringLiteral text: String) { self.text = text }

    package var description: String { text }

    package static func == (one: ExactText, other: ExactText) -> Bool { one.text.isSame(as: other.text) }

    /// Equal code units give equal hashes. Texts that are only canonically equivalent may have the same hash.
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }

    package static func < (one: ExactText, other: ExactText) -> Bool { one.text.isBefore(other.text) }
}

extension ExactText: Codable, CodingKeyRepresentable {
    package init(from decoder: any Decoder) throws { text = try String(from: decoder) }

    package func encode(to encoder: any Encoder) throws { try text.encode(to: encoder) }

    /// The key of a dictionary is a key in JSON.
    package var codingKey: any CodingKey { JSONKey(stringValue: text) }

    package init?(codingKey: some CodingKey) { text = codingKey.stringValue }
}

extension StringProtocol {
    /// Whether both texts have the same code units. `==` also takes é for e with U+0301.
    package func isSame(as other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Whether this text is sorted before another, by their code units.
    package func isBefore(_ other: some StringProtocol) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}

extension String? {
    /// Whether there is a text, and it has the same code units.
    package func isSame(as other: some StringProtocol) -> Bool { map { $0.isSame(as: other) } ?? false }
}

extension Sequence<String> {
    /// The texts in the order of their code units.
    package func sortedExactly() -> [String] { sorted { $0.isBefore($1) } }

    /// Whether one of the texts has the same code units.
    package func containsExactly(_ text: some StringProtocol) -> Bool { contains { $0.isSame(as: text) } }
}

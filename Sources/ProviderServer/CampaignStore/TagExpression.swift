import Notifications

/// A condition on the tags of an installation: `(news && sv) && !muted`.
///
/// `!` binds more tightly than `&&`, and `&&` more tightly than `||`, as in Swift and in Azure's tag expressions.
package indirect enum TagExpression: Sendable, Hashable {
    case tag(String)
    case not(TagExpression)
    case and(TagExpression, TagExpression)
    case or(TagExpression, TagExpression)

    /// The longest expression, in bytes. Twenty tags with operators have about 500.
    package static let maximumBytes = 2_000

    /// The largest depth of parentheses and `!`. The parser recurses, and SQLite's parser allows a depth of 1,000.
    package static let maximumDepth = 20

    /// The largest number of tags in an expression. Each tag is searched for in every installation.
    package static let maximumTags = 50

    /// The longest tag, in bytes, the same as at Azure.
    package static let maximumTagBytes = 120

    /// A fault in an expression.
    package struct Fault: Error, Sendable, Hashable {
        /// The place of the fault: the number of bytes before it.
        package let offset: Int
        package let cause: String
    }

    package init(_ text: String) throws(Fault) {
        var parser = TagParser(text)
        self = try parser.expression()
    }

    /// Whether a byte may be in a tag. White space and the characters of operators may not.
    package static func isTagByte(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || "_-.:@#".utf8.contains(byte)
    }

    package static func isTag(_ text: String) -> Bool {
        (1...maximumTagBytes).contains(text.utf8.count) && text.utf8.allSatisfy(isTagByte)
    }
}

/// Parses a ``TagExpression`` by recursive descent.
private struct TagParser {
    typealias Fault = TagExpression.Fault

    private let text: [UInt8]
    private var index = 0
    private var tags = 0

    init(_ text: String) { self.text = Array(text.utf8) }

    mutating func expression() throws(Fault) -> TagExpression {
        guard text.count <= TagExpression.maximumBytes else {
            throw fault("The expression may have \(TagExpression.maximumBytes) bytes.", at: TagExpression.maximumBytes)
        }
        let result = try disjunction(depth: 0)
        skipSpace()
        guard index == text.count else { throw fault("There has to be && or || or the end.") }
        return result
    }

    private mutating func disjunction(depth: Int) throws(Fault) -> TagExpression {
        var result = try conjunction(depth: depth)
        while try consume("|") { result = .or(result, try conjunction(depth: depth)) }
        return result
    }

    private mutating func conjunction(depth: Int) throws(Fault) -> TagExpression {
        var result = try operand(depth: depth)
        while try consume("&") { result = .and(result, try operand(depth: depth)) }
        return result
    }

    private mutating func operand(depth: Int) throws(Fault) -> TagExpression {
        skipSpace()
        guard depth < TagExpression.maximumDepth else {
            throw fault("The expression may be \(TagExpression.maximumDepth) levels deep.")
        }
        switch next {
        case UInt8(ascii: "!"):
            index += 1
            return .not(try operand(depth: depth + 1))
        case UInt8(ascii: "("):
            index += 1
            let inner = try disjunction(depth: depth + 1)
            skipSpace()
            guard next == UInt8(ascii: ")") else { throw fault("There has to be a closing parenthesis.") }
            index += 1
            return inner
        default:
            return .tag(try tag())
        }
    }

    private mutating func tag() throws(Fault) -> String {
        let start = index
        while let next, TagExpression.isTagByte(next) { index += 1 }
        guard index > start else {
            throw fault("There has to be a tag: letters, digits and _ - . : @ #.")
        }
        guard index - start <= TagExpression.maximumTagBytes else {
            throw fault("A tag may have \(TagExpression.maximumTagBytes) bytes.", at: start)
        }
        tags += 1
        guard tags <= TagExpression.maximumTags else {
            throw fault("The expression may have \(TagExpression.maximumTags) tags.", at: start)
        }
        return String(decoding: text[start..<index], as: UTF8.self)
    }

    /// Reads an operator, which is the same character twice. Returns false if another character follows.
    private mutating func consume(_ character: Character) throws(Fault) -> Bool {
        skipSpace()
        guard next == character.asciiValue else { return false }
        guard index + 1 < text.count, text[index + 1] == character.asciiValue else {
            throw fault("The operator is \(character)\(character).")
        }
        index += 2
        return true
    }

    private var next: UInt8? { index < text.count ? text[index] : nil }

    private mutating func skipSpace() {
        while next == UInt8(ascii: " ") { index += 1 }
    }

    private func fault(_ cause: String, at offset: Int? = nil) -> Fault {
        Fault(offset: offset ?? index, cause: cause)
    }
}

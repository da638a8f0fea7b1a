import Notifications

/// A condition on the tags of an installation: `(news && sv) && !muted`.
///
/// `!` binds more tightly than `&&`, and `&&` more tightly than `||`, as in Swift and in Azure's tag expressions.
package indirect enum TagExpression: LogicalExpression, Sendable, Hashable {
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

    package typealias Fault = ExpressionFault

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
private struct TagParser: ExpressionParser {
    typealias Fault = TagExpression.Fault

    static let symbols = (or: "||", and: "&&", not: "!")

    let text: [UInt8]
    var index = 0
    private var tags = 0

    init(_ text: String) { self.text = Array(text.utf8) }

    mutating func expression() throws(Fault) -> TagExpression {
        guard text.count <= TagExpression.maximumBytes else {
            throw fault("The expression may have \(TagExpression.maximumBytes) bytes.", at: TagExpression.maximumBytes)
        }
        let result = try disjunction()
        skipSpace()
        guard index == text.count else { throw fault("There has to be && or || or the end.") }
        return result
    }

    mutating func condition() throws(Fault) -> TagExpression {
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
        return .tag(String(decoding: text[start..<index], as: UTF8.self))
    }

    mutating func consume(_ symbol: String) throws(Fault) -> Bool {
        skipSpace()
        guard let next, next == symbol.utf8.first else { return false }
        guard text[index...].starts(with: symbol.utf8) else { throw fault("The operator is \(symbol).") }
        index += symbol.utf8.count
        // A fault of the depth names the place of the operand.
        skipSpace()
        return true
    }

    private mutating func skipSpace() {
        while next == UInt8(ascii: " ") { index += 1 }
    }
}

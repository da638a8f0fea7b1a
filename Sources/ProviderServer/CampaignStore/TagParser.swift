import Notifications

/// Parses an expression of tags: `(news && sv) && !muted`. The operators bind as in Swift and in Azure's tag expressions.
struct TagParser: ExpressionParser {
    static let symbols = (or: "||", and: "&&", not: "!")

    let text: [UInt8]
    var index = 0
    private var tags = 0

    init(_ text: String) { self.text = Array(text.utf8) }

    mutating func expression() throws(ExpressionFault) -> AudienceExpression {
        guard text.count <= AudienceExpression.maximumBytes else {
            throw fault(
                "The expression may have \(AudienceExpression.maximumBytes) bytes.", at: AudienceExpression.maximumBytes
            )
        }
        let result = try disjunction()
        skipSpace()
        guard index == text.count else { throw fault("There has to be && or || or the end.") }
        return result
    }

    mutating func condition() throws(ExpressionFault) -> AudienceExpression {
        let start = index
        while let next, Installation.isTagByte(next) { index += 1 }
        guard index > start else {
            throw fault("There has to be a tag: letters, digits and _ - . : @ #.")
        }
        guard index - start <= Installation.maximumTagBytes else {
            throw fault("A tag may have \(Installation.maximumTagBytes) bytes.", at: start)
        }
        tags += 1
        guard tags <= AudienceExpression.maximumConditions else {
            throw fault("The expression may have \(AudienceExpression.maximumConditions) tags.", at: start)
        }
        return .condition(.tag(String(decoding: text[start..<index], as: UTF8.self)))
    }

    mutating func consume(_ symbol: String) throws(ExpressionFault) -> Bool {
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

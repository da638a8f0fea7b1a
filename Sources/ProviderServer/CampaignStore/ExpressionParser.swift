/// A fault in an expression.
package struct ExpressionFault: Error, Sendable, Hashable {
    /// The place of the fault: the number of bytes before it.
    package let offset: Int
    package let cause: String
}

/// Parses an ``AudienceExpression`` in one of its forms by recursive descent. Negation binds most tightly, then "and", then "or".
protocol ExpressionParser {
    static var symbols: (or: String, and: String, not: String) { get }
    var text: [UInt8] { get }
    var index: Int { get set }
    /// Skips white space and reads a symbol. Returns false if something else follows.
    mutating func consume(_ symbol: String) throws(ExpressionFault) -> Bool
    mutating func condition() throws(ExpressionFault) -> AudienceExpression
}

extension ExpressionParser {
    mutating func disjunction(depth: Int = 0) throws(ExpressionFault) -> AudienceExpression {
        var result = try conjunction(depth: depth)
        while try consume(Self.symbols.or) { result = .or(result, try conjunction(depth: depth)) }
        return result
    }

    private mutating func conjunction(depth: Int) throws(ExpressionFault) -> AudienceExpression {
        var result = try operand(depth: depth)
        while try consume(Self.symbols.and) { result = .and(result, try operand(depth: depth)) }
        return result
    }

    private mutating func operand(depth: Int) throws(ExpressionFault) -> AudienceExpression {
        guard depth < AudienceExpression.maximumDepth else {
            throw fault("The expression may be \(AudienceExpression.maximumDepth) levels deep.")
        }
        if try consume(Self.symbols.not) { return .not(try operand(depth: depth + 1)) }
        guard try consume("(") else { return try condition() }
        let inner = try disjunction(depth: depth + 1)
        guard try consume(")") else { throw fault("There has to be a closing parenthesis.") }
        return inner
    }

    var next: UInt8? { index < text.count ? text[index] : nil }

    func fault(_ cause: String, at offset: Int? = nil) -> ExpressionFault {
        ExpressionFault(offset: offset ?? index, cause: cause)
    }
}

import Notifications

/// Parses an ``AudienceExpression`` by recursive descent.
struct AudienceParser: ExpressionParser {
    typealias Condition = AudienceExpression.Condition
    typealias Comparison = AudienceExpression.Comparison

    /// The properties that have a name of their own. Any other name is that of a value.
    private enum Field: String, CaseIterable {
        case tag, language, timeZone, environment, user, service, activity, appVersion, lastSeen, registered
    }

    static let symbols = (or: "or", and: "and", not: "not")

    let text: [UInt8]
    private let services: [String]
    private let moment: (String) -> AudienceExpression.Moment?
    var index = 0
    private var conditions = 0

    init(_ text: String, services: [String], moment: @escaping (String) -> AudienceExpression.Moment?) {
        self.text = Array(text.utf8)
        self.services = services
        self.moment = moment
    }

    mutating func expression() throws(ExpressionFault) -> AudienceExpression {
        guard text.count <= AudienceExpression.maximumBytes else {
            throw fault("The expression may have \(AudienceExpression.maximumBytes) bytes.", at: 0)
        }
        let result = try disjunction()
        skipSpace()
        guard index == text.count else { throw fault("There has to be and, or or the end.") }
        return result
    }

    // MARK: Comparisons

    mutating func condition() throws(ExpressionFault) -> AudienceExpression {
        skipSpace()
        let start = index
        let name = word()
        guard !name.isEmpty else { throw fault("There has to be the name of a property or of a value.") }
        conditions += 1
        guard conditions <= AudienceExpression.maximumConditions else {
            throw fault("The expression may have \(AudienceExpression.maximumConditions) comparisons.", at: start)
        }
        let comparison = try comparisonOperator()
        skipSpace()
        let place = index
        let (operand, isQuoted) = try self.operandText()
        let field = Field(rawValue: name)
        let condition = try self.condition(field, name, comparison, operand, isQuoted: isQuoted, place)
        guard case .notEqual = comparison, Self.isSearch(condition) else { return .condition(condition) }
        return .not(.condition(condition))
    }

    /// Whether a condition has no comparison of its own, and is true or not.
    private static func isSearch(_ condition: Condition) -> Bool {
        switch condition {
        case .appVersion, .lastSeen, .registered, .number: false
        default: true
        }
    }

    private func condition(
        _ field: Field?,
        _ name: String,
        _ comparison: Comparison,
        _ operand: String,
        isQuoted: Bool,
        _ place: Int,
    ) throws(ExpressionFault) -> Condition {
        switch field {
        case .appVersion:
            guard let version = AppVersion(operand) else {
                throw fault("There has to be a version such as 2.1.", at: place)
            }
            return .appVersion(comparison, version)
        case .lastSeen, .registered:
            guard let moment = moment(operand) else {
                throw fault("There has to be a time, such as 2027-01-31 or P30D for 30 days ago.", at: place)
            }
            return field == .lastSeen ? .lastSeen(comparison, moment) : .registered(comparison, moment)
        case nil:
            return try value(name, comparison, operand, isQuoted: isQuoted, place)
        case let field?:
            guard comparison == .equal || comparison == .notEqual else {
                throw fault("A \(field.rawValue) can only be compared with = and !=.", at: place)
            }
            return try search(field, operand, place)
        }
    }

    private func search(_ field: Field, _ operand: String, _ place: Int) throws(ExpressionFault) -> Condition {
        switch field {
        case .tag:
            guard Installation.isTag(operand) else { throw fault("There has to be a tag.", at: place) }
            return .tag(operand)
        case .language:
            guard Installation.isLanguage(operand) else {
                throw fault("There has to be a language, such as pt or pt-BR.", at: place)
            }
            return .language(operand)
        case .timeZone: return .timeZone(operand)
        case .environment:
            guard let environment = Environment(rawValue: operand) else {
                throw fault("There has to be development or production.", at: place)
            }
            return .environment(environment)
        case .service:
            guard services.contains(operand) else {
                throw fault("There has to be one of \(services.joined(separator: ", ")).", at: place)
            }
            return .service(operand)
        case .activity:
            // The name becomes a part of a word in the store.
            guard operand.utf8.allSatisfy({ $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "=") }) else {
                throw fault("There has to be the name of a Live Activity.", at: place)
            }
            return .activity(operand)
        case .user, .appVersion, .lastSeen, .registered: return .user(operand)
        }
    }

    /// A comparison with one of the installation's values.
    private func value(
        _ name: String,
        _ comparison: Comparison,
        _ operand: String,
        isQuoted: Bool,
        _ place: Int,
    ) throws(ExpressionFault) -> Condition {
        guard name.isName(maximumBytes: AudienceExpression.maximumBytes) else {
            throw fault("There is no property \(name.debugDescription), and a value cannot have this name.", at: place)
        }
        if !isQuoted, let number = JSONNumber(operand) {
            guard Installation.allows(number) else { throw fault("The number is too large or too precise.", at: place) }
            return .number(name: name, comparison, number)
        }
        guard comparison == .equal || comparison == .notEqual else {
            throw fault("There has to be a number. Texts and booleans are compared with = and != only.", at: place)
        }
        if !isQuoted, let isTrue = Bool(operand) { return .boolean(name: name, isTrue) }
        return .text(name: name, operand)
    }

    // MARK: Words

    private mutating func comparisonOperator() throws(ExpressionFault) -> Comparison {
        skipSpace()
        for (text, comparison) in [
            ("==", Comparison.equal), ("!=", .notEqual), ("<=", .lessOrEqual), (">=", .greaterOrEqual), ("=", .equal),
            ("<", .less), (">", .greater),
        ] where self.text[index...].starts(with: text.utf8) {
            index += text.utf8.count
            return comparison
        }
        throw fault("There has to be =, !=, <, <=, > or >=.")
    }

    /// Reads a word, or a text in double quotes with `\"` and `\\`.
    private mutating func operandText() throws(ExpressionFault) -> (String, isQuoted: Bool) {
        guard next == UInt8(ascii: "\"") else {
            let word = word()
            guard !word.isEmpty else { throw fault("There has to be a word, a number or a text in double quotes.") }
            return (word, false)
        }
        index += 1
        var bytes: [UInt8] = []
        while let byte = next, byte != UInt8(ascii: "\"") {
            index += 1
            if byte == UInt8(ascii: "\\"), let escaped = next {
                bytes.append(escaped)
                index += 1
            } else {
                bytes.append(byte)
            }
        }
        guard next == UInt8(ascii: "\"") else { throw fault("A double quote is missing at the end of the text.") }
        index += 1
        return (String(decoding: bytes, as: UTF8.self), true)
    }

    /// Reads the characters up to white space, a parenthesis or an operator.
    private mutating func word() -> String {
        let start = index
        while let byte = next, !Self.ends(byte) { index += 1 }
        return String(decoding: text[start..<index], as: UTF8.self)
    }

    private static func ends(_ byte: UInt8) -> Bool {
        byte <= 0x20 || "()=!<>\"".utf8.contains(byte)
    }

    mutating func consume(_ symbol: String) -> Bool {
        skipSpace()
        let end = index + symbol.utf8.count
        // A word ends there. Parentheses need no end.
        guard text[index...].starts(with: symbol.utf8),
            end == text.count || Self.ends(text[end]) || symbol.utf8.allSatisfy(Self.ends)
        else { return false }
        index = end
        return true
    }

    private mutating func skipSpace() {
        while let byte = next, " \t\r\n".utf8.contains(byte) { index += 1 }
    }
}

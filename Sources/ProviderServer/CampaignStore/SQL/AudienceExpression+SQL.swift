import Notifications
import SQLSupport
import Storage

extension AudienceExpression {
    /// What a condition is compared with, beside the installation.
    struct Context {
        /// When the audience is looked for.
        let now: Timestamp
        /// The versions that installations of the app have.
        let versions: [String]
    }

    /// The function that finds a text in another one. Its result is 0 if there is none.
    static let position = SQLStatement.either(sqlite: "instr", postgresql: "strpos")

    /// Whether a list of tags, each between spaces, has a language: the tag itself, or one that begins with it.
    static func has(_ language: String, in list: SQLStatement) -> SQLStatement {
        let words = LanguageTag.spellings(of: language).flatMap { name in ["-", " "].map { " " + name + $0 } }
        let found = words.map { word -> SQLStatement in
            "\(position)(replace(lower(\(list)), '_', '-'), \(word)) > 0"
        }
        return "(\(found.joined(separator: " OR ")))"
    }

    /// The SQL of the condition on the installation `i`, which is true or false and never NULL. What the expression names is
    /// always a parameter, never SQL. The recursion is safe, because the parser limits the depth.
    func sql(_ context: Context) -> SQLStatement {
        switch self {
        case .condition(let condition): condition.sql(context)
        case .not(let inner): "NOT (\(inner.sql(context)))"
        case .and(let left, let right): "(\(left.sql(context)) AND \(right.sql(context)))"
        case .or(let left, let right): "(\(left.sql(context)) OR \(right.sql(context)))"
        }
    }
}

extension AudienceExpression.Condition {
    private static var position: SQLStatement { AudienceExpression.position }

    fileprivate func sql(_ context: AudienceExpression.Context) -> SQLStatement {
        switch self {
        case .tag(let tag):
            // Tags are searched as text in the row itself. A table of tags would need several index searches for each
            // installation, which is slower.
            return "(\(Self.position)(i.tags, \(" \(tag) ")) > 0 OR \(Self.position)(i.app_tags, \(" \(tag) ")) > 0)"
        case .language(let language):
            return AudienceExpression.has(language, in: "i.languages")
        case .timeZone(let zone): return "\(Installation.timeZone) = \(zone)"
        case .environment(let environment): return "i.environment = \(environment.column)"
        case .user(let user): return "coalesce(i.\(Installation.userColumn.sql) = \(user), false)"
        case .service(let name):
            return "\(Self.position)(i.tokens, \(" " + ServiceTokens.Place.service(name).word)) > 0"
        case .activity(let name):
            return "\(Self.position)(i.tokens, \(" " + ServiceTokens.Place.activity(name).word)) > 0"
        case .appVersion(let comparison, let version):
            // A version that has no number is none of them.
            let found = context.versions.filter { text in
                AppVersion(text).map { comparison.holds($0, version) } ?? false
            }
            return "(i.app_version IS NOT NULL AND i.app_version \(.anyOf(found)))"
        case .lastSeen(let comparison, let moment):
            return "i.registered \(comparison.sql) \(moment.timestamp(now: context.now).column)"
        case .registered(let comparison, let moment):
            return "i.created \(comparison.sql) \(moment.timestamp(now: context.now).column)"
        case .number(let name, let comparison, let number):
            let text = number.digits
            let path = comparison == .equal ? "==" : comparison.rawValue
            return .either(
                sqlite: Self.sqlite(name, comparison, number),
                postgresql: Self.postgresql(name, .sql("'\(path) ' || CAST(") + "\(text) AS text)"))
        case .text(let name, let text):
            return .either(
                sqlite: Self.sqlite(name, type: "= 'text'", "= \(text)"),
                postgresql: Self.postgresql(name, "'== ' || CAST(to_json(CAST(\(text) AS text)) AS text)"))
        case .boolean(let name, let isTrue):
            // SQLite has a type for each of the two, and the type is all that there is to compare.
            return .either(
                sqlite: Self.sqlite(name, type: .sql("= '\(isTrue)'"), "IS NOT NULL"),
                postgresql: Self.postgresql(name, .sql("'== \(isTrue)'")))
        }
    }

    // MARK: Values

    /// A condition on a number. SQLite compares integers of 64 bits exactly, and knows all other numbers approximately only.
    private static func sqlite(
        _ name: String, _ comparison: AudienceExpression.Comparison, _ number: JSONNumber,
    ) -> SQLStatement {
        func exactly(_ document: SQLStatement) -> SQLStatement {
            .sql("coalesce(\(NumberOrder.name)(")
                + "\(document) -> ('$.\"' || \(name) || '\"'), \(number.digits)) \(comparison.sql) 0, false)"
        }
        return sqlite(name, type: numberTypes) { value, document in
            guard let integer = number.int64 else { return exactly(document) }
            return """
                CASE typeof(\(value)) WHEN 'integer' THEN \(value) \(comparison.sql) \(integer) \
                ELSE \(exactly(document)) END
                """
        }
    }

    private static let numberTypes: SQLStatement = "IN ('integer', 'real')"

    /// A condition on the value with a name: the backend's if there is one, otherwise the app's.
    /// - Parameters:
    ///   - type: compares the value's type. Only a value of this type may be compared.
    ///   - comparison: what comes after the value.
    private static func sqlite(_ name: String, type: SQLStatement, _ comparison: SQLStatement) -> SQLStatement {
        sqlite(name, type: type) { value, _ in "\(value) \(comparison)" }
    }

    /// - Parameter condition: the condition on the value; its second argument is the document that has the value.
    private static func sqlite(
        _ name: String, type: SQLStatement,
        _ condition: (_ value: SQLStatement, _ document: SQLStatement) -> SQLStatement,
    ) -> SQLStatement {
        func member(_ column: String, _ function: String) -> SQLStatement {
            .sql("\(function)(CAST(\(column) AS TEXT), '$.\"' || ") + "\(name) || '\"')"
        }
        func test(_ column: String) -> SQLStatement {
            """
            CASE WHEN \(member(column, "json_type")) \(type) \
            THEN \(condition(member(column, "json_extract"), .sql("CAST(\(column) AS TEXT)"))) ELSE false END
            """
        }
        return "(\(test(backend)) OR (\(member(backend, "json_type")) IS NULL AND \(test(app))))"
    }

    private static let backend = "i.user_values"
    private static let app = "i.app_values"

    /// The same for PostgreSQL. Reading JSON takes most of the time, so it is read once where that is enough, and not at all
    /// if the name is not in it.
    /// - Parameter comparison: the end of a filter of a JSON path, as a text. A path compares only values of the same type.
    private static func postgresql(_ name: String, _ comparison: SQLStatement) -> SQLStatement {
        let start: SQLStatement = "'$.\"' || CAST(\(name) AS text) || '\""
        let (member, match): (SQLStatement, SQLStatement) = ("\(start)'", "\(start) ? (@ ' || \(comparison) || ')'")
        func found(_ column: String, _ path: SQLStatement) -> SQLStatement {
            // PostgreSQL's jsonb cannot have the character 0.
            .sql("jsonb_path_exists(CASE WHEN position('\\\\u0000'::bytea IN \(column)) = 0 ")
                + .sql("THEN convert_from(\(column), 'UTF8')::jsonb END, ") + "CAST(\(path) AS jsonpath))"
        }
        let isNamed: SQLStatement =
            .sql("position(CAST('\"' || CAST(") + "\(name) AS text) || '\"' AS bytea) IN " + .sql("\(backend)) > 0")
        return """
            CASE WHEN \(isNamed) AND \(found(backend, match)) THEN true
            WHEN \(isNamed) AND \(found(backend, member)) THEN false
            ELSE coalesce(\(found(app, match)), false) END
            """
    }
}

extension AudienceExpression.Comparison {
    /// The operator in SQL.
    fileprivate var sql: SQLStatement { .sql(self == .notEqual ? "<>" : rawValue) }
}

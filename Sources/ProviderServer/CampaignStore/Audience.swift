package import Notifications

/// Selects the recipients of a message. A recipient has to meet all conditions that are set.
package struct Audience: Sendable, Hashable {
    /// Only these installations.
    package var installations: [String]?
    /// Only the installations of these users.
    package var users: [String]?
    /// Only installations whose first language is this one or begins with it: `pt` includes `pt-BR`. In any spelling.
    package var language: String?
    package var environment: Environment?
    package var expression: AudienceExpression?

    /// The largest number of versions of an app that are compared. An app has some hundred; whoever has its key may invent
    /// more.
    package static let maximumVersions = 10_000

    /// Creates an audience of all installations.
    package init() {}

    /// Returns the audience whose recipients meet the conditions of both audiences.
    package func narrowed(by other: Audience) -> Audience {
        var both = self
        both.installations = Self.common(installations, other.installations)
        both.users = Self.common(users, other.users)
        var isPossible = true
        if let language, let wanted = other.language {
            // pt and pt-BR are together pt-BR.
            both.language = LanguageTag.begins(wanted, with: language) ? wanted : language
            isPossible = both.language == wanted || LanguageTag.begins(language, with: wanted)
        } else {
            both.language = language ?? other.language
        }
        if let environment, let wanted = other.environment, environment != wanted { isPossible = false }
        both.environment = environment ?? other.environment
        both.expression = AudienceExpression.all(expression, other.expression)
        // No recipient can meet both conditions.
        if !isPossible { both.installations = [] }
        return both
    }

    private static func common(_ one: [String]?, _ other: [String]?) -> [String]? {
        guard let one, let other else { return one ?? other }
        return Set(one.map { ExactText($0) }).intersection(other.map { ExactText($0) }).sorted().map(\.text)
    }
}

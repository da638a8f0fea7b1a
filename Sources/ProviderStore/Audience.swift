package import Notifications

/// Who gets a message. Everything that is given has to hold.
package struct Audience: Sendable, Hashable {
    /// Only these installations.
    package var installations: [String]?
    /// Only the installations of these users.
    package var users: [String]?
    package var tags: TagExpression?
    /// Only those whose first language is this one or begins with it: `pt` is also `pt-BR`. In lower case.
    package var language: String?
    package var environment: Environment?

    /// Everybody.
    package init() {}
}

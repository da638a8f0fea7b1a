package import Notifications

/// Selects the recipients of a message. A recipient has to meet all conditions that are set.
package struct Audience: Sendable, Hashable {
    /// Only these installations.
    package var installations: [String]?
    /// Only the installations of these users.
    package var users: [String]?
    package var tags: TagExpression?
    /// Only installations whose first language is this one or begins with it: `pt` includes `pt-BR`. In lower case.
    package var language: String?
    package var environment: Environment?

    /// Creates an audience of all installations.
    package init() {}
}

/// Whose notifications the service accepts.
package enum AcceptChoice: String, Sendable, CaseIterable {
    /// Those of the teams, keys, apps and device tokens that it knows.
    case known
    /// Also those of others, in the development environment: what is not known is made at its first use.
    case any
}

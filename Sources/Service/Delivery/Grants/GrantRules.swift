package import Rates

/// The named limits of grants that are settings, each with the reason for its value.
package struct GrantRules: Sendable, Hashable {
    /// The largest number of grants that are not revoked, of all apps together. All grants are in memory, with about 1 KB each.
    package var grants = Self.usualGrants
    package static let usualGrants = 100_000

    /// A handle ends if the app has not registered it for this long. An app registers at each launch, so nobody has used it
    /// for half a year.
    package var handleAge = Duration.seconds(180 * 86_400)

    /// For how long handles that have ended and grants that were revoked are listed. An administrator sees at each monthly look
    /// what has ended since the last one.
    package static let listed = Duration.seconds(30 * 86_400)

    /// For how long the end of a handle is remembered, so that an instance that still sends is told that it has ended. Afterwards
    /// the handle is one that nobody has made.
    package static let remembered = Duration.seconds(365 * 86_400)

    package init() {}

    package static let settings: [LimitSetting<GrantRules>] = [
        LimitSetting("grants", "grants that are not revoked", 1...1_000_000, \.grants, .count),
        LimitSetting(
            "handle-age", "days after which a handle ends that was not registered again", 1...3650, \.handleAge, .days),
    ]
}

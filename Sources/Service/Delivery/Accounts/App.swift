package import Notifications

/// An app of a team.
package struct App: Sendable, Hashable {
    package let id: AppID
    package let bundleID: BundleID
    package let team: TeamID
    /// Whether the app may have broadcast channels.
    package var hasBroadcasts: Bool
    /// How many notifications are kept for a device that is offline: 1, the newest (Guide, 2.1.3), to
    /// ``MailboxBound/maximumCount``. An app with an upstream has 1, because the upstream keeps its notifications.
    package var keep: Int

    package init(id: AppID, bundleID: BundleID, team: TeamID, hasBroadcasts: Bool = true, keep: Int = 1) {
        self.id = id
        self.bundleID = bundleID
        self.team = team
        self.hasBroadcasts = hasBroadcasts
        // A column of a later release, or a damaged one, must not make a mailbox without a bound.
        self.keep = min(max(keep, 1), MailboxBound.maximumCount)
    }

    /// Apps of a team whose numbers follow each other.
    package static func numbered(_ bundleIDs: [BundleID], of team: TeamID, from first: AppID) -> [App] {
        zip(bundleIDs, UInt32(0)...).map { bundleID, number in
            App(id: AppID(rawValue: first.rawValue &+ number), bundleID: bundleID, team: team)
        }
    }
}

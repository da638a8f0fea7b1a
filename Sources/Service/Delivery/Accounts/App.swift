package import Notifications

/// An app of a team.
package struct App: Sendable, Hashable {
    package let id: AppID
    package let bundleID: BundleID
    package let team: TeamID
    /// Whether the app may have broadcast channels.
    package var hasBroadcasts: Bool

    package init(id: AppID, bundleID: BundleID, team: TeamID, hasBroadcasts: Bool = true) {
        self.id = id
        self.bundleID = bundleID
        self.team = team
        self.hasBroadcasts = hasBroadcasts
    }

    /// Apps of a team whose numbers follow each other.
    package static func numbered(_ bundleIDs: [BundleID], of team: TeamID, from first: AppID) -> [App] {
        zip(bundleIDs, UInt32(0)...).map { bundleID, number in
            App(id: AppID(rawValue: first.rawValue &+ number), bundleID: bundleID, team: team)
        }
    }
}

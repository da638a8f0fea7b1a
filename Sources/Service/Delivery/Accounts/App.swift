package import Notifications

/// An app of a team.
package struct App: Sendable, Hashable {
    package let id: AppID
    package let bundleID: BundleID
    package let team: TeamID

    package init(id: AppID, bundleID: BundleID, team: TeamID) {
        self.id = id
        self.bundleID = bundleID
        self.team = team
    }
}

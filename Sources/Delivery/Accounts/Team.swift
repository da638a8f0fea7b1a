package import Notifications

/// A team: the owner of apps, keys and certificates.
package struct Team: Sendable, Hashable {
    /// In bytes; a name is for people, and has to fit a line.
    package static let maximumNameBytes = 200

    package let id: TeamID
    package let name: String

    package init(id: TeamID, name: String) {
        self.id = id
        self.name = name
    }
}

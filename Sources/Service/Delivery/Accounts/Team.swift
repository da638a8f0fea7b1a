package import Notifications

/// A team: the owner of apps, keys and certificates.
package struct Team: Sendable, Hashable {
    /// The maximum length of a name, in bytes. Names are for people, and have to fit on one line.
    package static let maximumNameBytes = 200

    package let id: TeamID
    package let name: String

    package init(id: TeamID, name: String) {
        self.id = id
        self.name = name
    }
}

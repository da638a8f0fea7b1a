package import Notifications

/// The accounts at one version.
package struct AccountsSnapshot: Sendable {
    /// Grows with every change.
    package let version: UInt64
    package let teams: [TeamID: Team]
    package let apps: [BundleID: App]
    package let keys: [KeyID: TeamKey]
    private let appsByID: [AppID: App]

    package init(version: UInt64, teams: [Team], apps: [App], keys: [TeamKey]) {
        self.version = version
        self.teams = Dictionary(teams.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        self.apps = Dictionary(apps.map { ($0.bundleID, $0) }, uniquingKeysWith: { $1 })
        self.keys = Dictionary(keys.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        appsByID = Dictionary(apps.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    }

    package func app(_ id: AppID) -> App? { appsByID[id] }

    /// The app that a topic addresses, and which of its services: the app whose bundle ID it is, else the one whose
    /// bundle ID and suffix it is.
    package func app(forTopic topic: String) -> (app: App, kind: TopicKind)? {
        if let app = BundleID(rawValue: topic).flatMap({ apps[$0] }) { return (app, .app) }
        for kind in TopicKind.allCases where kind != .app && topic.hasSuffix(kind.suffix) {
            if let app = BundleID(rawValue: String(topic.dropLast(kind.suffix.count))).flatMap({ apps[$0] }) {
                return (app, kind)
            }
        }
        return nil
    }
}

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

/// The public half of a key with which a team signs its provider tokens.
package struct TeamKey: Sendable, Hashable {
    package let id: KeyID
    package let team: TeamID
    /// The point on P-256, uncompressed (X9.63), 65 bytes.
    package let publicKey: [UInt8]
    /// The environments it is good for.
    package let environments: Set<Environment>
    /// When it was revoked; nil while it is good.
    package var revoked: Timestamp?

    package init(
        id: KeyID,
        team: TeamID,
        publicKey: [UInt8],
        environments: Set<Environment>,
        revoked: Timestamp? = nil,
    ) {
        self.id = id
        self.team = team
        self.publicKey = publicKey
        self.environments = environments
        self.revoked = revoked
    }
}

package import Notifications

/// The public half of a key with which a team signs its provider tokens.
package struct TeamKey: Sendable, Hashable {
    /// The largest number of apps that a key can be restricted to. For more apps, use a key for all of the team's
    /// apps.
    package static let maximumBundleIDs = 100

    package let id: KeyID
    package let team: TeamID
    /// The public key: an uncompressed point on P-256 (X9.63, 65 bytes).
    package let publicKey: [UInt8]
    /// The environments that the key is valid for.
    package let environments: Set<Environment>
    /// The apps that the key is valid for; nil for all apps of the team.
    package internal(set) var bundleIDs: Set<BundleID>?
    /// When the key was revoked; nil if it was not.
    package var revoked: Timestamp?

    package init(
        id: KeyID,
        team: TeamID,
        publicKey: [UInt8],
        environments: Set<Environment>,
        bundleIDs: Set<BundleID>? = nil,
        revoked: Timestamp? = nil,
    ) {
        self.id = id
        self.team = team
        self.publicKey = publicKey
        self.environments = environments
        self.bundleIDs = bundleIDs
        self.revoked = revoked
    }
}

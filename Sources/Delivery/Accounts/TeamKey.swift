package import Notifications

/// The public part of a key that a team signs its provider tokens with.
package struct TeamKey: Sendable, Hashable {
    /// The largest number of apps that a key can be restricted to. For more apps, use a key for all of the team's
    /// apps.
    package static let maximumBundleIDs = 100

    package let id: KeyID
    package let team: TeamID
    /// The point on P-256, uncompressed (X9.63), 65 bytes.
    package let publicKey: [UInt8]
    /// The environments that it is valid for.
    package let environments: Set<Environment>
    /// The apps that it is valid for; nil for all apps of the team.
    package internal(set) var bundleIDs: Set<BundleID>?
    /// The time of its revocation; nil if it was not revoked.
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

package import Notifications

/// The public half of a key with which a team signs its provider tokens.
package struct TeamKey: Sendable, Hashable {
    /// How many apps a key may be restricted to; one for more is one for all of the team's.
    package static let maximumBundleIDs = 100

    package let id: KeyID
    package let team: TeamID
    /// The point on P-256, uncompressed (X9.63), 65 bytes.
    package let publicKey: [UInt8]
    /// The environments it is good for.
    package let environments: Set<Environment>
    /// The apps it is good for; nil for all of its team's.
    package internal(set) var bundleIDs: Set<BundleID>?
    /// When it was revoked; nil while it is good.
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

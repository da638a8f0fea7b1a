package import Notifications

/// What one instance may send through the gateway to the users of an app (docs/gateway.md).
///
/// Its key is not among the keys of the team. So a part of the service that knows nothing of grants, also in a node of an
/// earlier release, accepts it nowhere.
package struct Grant: Sendable, Hashable {
    /// The maximum length of a name, in bytes. Names are for people, and have to fit on one line.
    package static let maximumNameBytes = 200
    /// The largest number of grants, of all apps together. All are in memory.
    package static let maximumCount = 10_000

    package let id: GrantID
    package let bundleID: BundleID
    /// The team of the app: the `iss` of the grant's provider tokens.
    package let team: TeamID
    package var name: String
    /// The identifier of its key: the `kid` of its provider tokens.
    package let key: KeyID
    /// The public half of its key: an uncompressed point on P-256 (X9.63, 65 bytes).
    package let publicKey: [UInt8]
    /// The key with which the app on a phone makes handles. It is on every phone, and so no secret.
    package let clientKey: String
    package var limits: GrantLimits
    package var isSuspended: Bool
    package let made: Timestamp
    /// When the grant was revoked, which cannot be undone; nil if it was not.
    package internal(set) var revoked: Timestamp?

    package init(
        id: GrantID,
        bundleID: BundleID,
        team: TeamID,
        name: String,
        key: KeyID,
        publicKey: [UInt8],
        clientKey: String,
        limits: GrantLimits = GrantLimits(),
        isSuspended: Bool = false,
        made: Timestamp,
        revoked: Timestamp? = nil,
    ) {
        self.id = id
        self.bundleID = bundleID
        self.team = team
        self.name = name
        self.key = key
        self.publicKey = publicKey
        self.clientKey = clientKey
        self.limits = limits
        self.isSuspended = isSuspended
        self.made = made
        self.revoked = revoked
    }

    /// Whether its key and its client key are accepted.
    package var isActive: Bool { !isSuspended && revoked == nil }
}

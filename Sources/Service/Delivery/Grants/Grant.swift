package import Notifications

/// What one instance may send through the gateway to the users of an app (docs/gateway.md).
///
/// Its key is not among the keys of the team. So a part of the service that knows nothing of grants, also in a node of an
/// earlier release, accepts it nowhere.
package struct Grant: Sendable, Hashable {
    /// The maximum length of a name, in bytes. Names are for people, and have to fit on one line.
    package static let maximumNameBytes = 200

    package let id: GrantID
    package let bundleID: BundleID
    /// The team of the app: the `iss` of the grant's provider tokens.
    package let team: TeamID
    package var name: String
    package internal(set) var providerKeys: GrantKeys<GrantProviderKey>
    package internal(set) var clientKeys: GrantKeys<GrantClientKeyEntry>
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
        providerKeys: GrantKeys<GrantProviderKey>,
        clientKeys: GrantKeys<GrantClientKeyEntry>,
        limits: GrantLimits = GrantLimits(),
        isSuspended: Bool = false,
        made: Timestamp,
        revoked: Timestamp? = nil,
    ) {
        self.id = id
        self.bundleID = bundleID
        self.team = team
        self.name = name
        self.providerKeys = providerKeys
        self.clientKeys = clientKeys
        self.limits = limits
        self.isSuspended = isSuspended
        self.made = made
        self.revoked = revoked
    }

    /// Makes a new grant with one key of each kind.
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
    ) {
        self.init(
            id: id, bundleID: bundleID, team: team, name: name,
            providerKeys: GrantKeys(GrantProviderKey(id: key, publicKey: publicKey, made: made)),
            clientKeys: GrantKeys(GrantClientKeyEntry(text: clientKey, made: made)), limits: limits,
            isSuspended: isSuspended, made: made)
    }

    /// The identifier of its older key: a `kid` of its provider tokens.
    package var key: KeyID { providerKeys.first.id }
    /// The public half of its older key.
    package var publicKey: [UInt8] { providerKeys.first.publicKey }
    /// Its older client key.
    package var clientKey: String { clientKeys.first.text }

    /// Its key with this identifier; nil if it has none or has ended it.
    package func providerKey(_ id: KeyID) -> GrantProviderKey? { providerKeys.all.first { $0.id == id } }

    /// Whether it has a client key alone, and everybody's servers send to the endpoints of its handles. Its provider key is one whose
    /// private half nobody has. So no node signs anybody in with it, also not one of an earlier release.
    package var isForWebPush: Bool { limits.webPush ?? false }

    /// Whether its keys and its client keys are accepted.
    package var isActive: Bool { !isSuspended && revoked == nil }

    /// Whether it was not revoked and its time is not over. A suspended grant is valid too, because it may continue.
    package func isValid(at now: Timestamp) -> Bool { revoked == nil && !limits.haveExpired(at: now) }
}

package import Notifications

/// What makes a service an instance's own (`carillon instance`, docs/instance.md): its one app is forwarded to a publisher's
/// gateway with the key of a grant.
package struct InstanceSettings: Sendable {
    /// The grant's: the `iss` and the `kid` of provider tokens.
    package let teamID: TeamID
    package let keyID: KeyID
    package let bundleID: BundleID
    /// The grant's private key, in PEM.
    package let privateKey: String
    /// The provider API of the gateway in each environment, `https://host:port`.
    package let gateways: [Environment: String]
    /// The certificates that the gateway's is verified with, in PEM; nil for the system's.
    package let authority: String?

    package init(
        teamID: TeamID,
        keyID: KeyID,
        bundleID: BundleID,
        privateKey: String,
        gateways: [Environment: String],
        authority: String?,
    ) {
        self.teamID = teamID
        self.keyID = keyID
        self.bundleID = bundleID
        self.privateKey = privateKey
        self.gateways = gateways
        self.authority = authority
    }
}

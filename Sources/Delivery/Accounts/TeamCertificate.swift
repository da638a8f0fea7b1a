package import Notifications

/// A provider certificate that was issued for an app of a team. Its holder has the certificate; this is what the
/// service has to know to list and to revoke it.
package struct TeamCertificate: Sendable, Hashable {
    package let serial: CertificateSerial
    package let team: TeamID
    /// The subject's UID (Guide, 2.3.2).
    package let bundleID: BundleID
    /// The environments it is good for; both for a universal certificate.
    package let environments: Set<Environment>
    /// The last moment of its life.
    package let validUntil: Timestamp
    /// When it was revoked; nil while it is good.
    package var revoked: Timestamp?

    package init(
        serial: CertificateSerial,
        team: TeamID,
        bundleID: BundleID,
        environments: Set<Environment>,
        validUntil: Timestamp,
        revoked: Timestamp? = nil,
    ) {
        self.serial = serial
        self.team = team
        self.bundleID = bundleID
        self.environments = environments
        self.validUntil = validUntil
        self.revoked = revoked
    }
}

package import Notifications

/// A provider certificate that was issued for an app of a team. The service does not keep the certificate itself,
/// only what it needs to list and revoke it.
package struct TeamCertificate: Sendable, Hashable {
    package let serial: CertificateSerial
    package let team: TeamID
    /// The bundle ID, from the subject's UID (Guide, 2.3.2).
    package let bundleID: BundleID
    /// The environments that the certificate is valid for. A universal certificate is valid for both.
    package let environments: Set<Environment>
    /// The end of its validity period.
    package let validUntil: Timestamp
    /// When the certificate was revoked; nil if it was not.
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

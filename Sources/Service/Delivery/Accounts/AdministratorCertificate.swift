package import Notifications

/// A listed administrator's certificate. The service does not keep the certificate itself, only what it needs to list
/// and revoke it.
///
/// A certificate is valid until it expires, unless it is listed as revoked. So certificates stay valid that were made
/// before there was a list, by a node of an earlier release, or after the backup that the store was restored from.
package struct AdministratorCertificate: Sendable, Hashable {
    package let serial: CertificateSerial
    /// When it was made; nil if it was not listed until its revocation.
    package let made: Timestamp?
    /// The end of its validity period. If ``made`` is nil, its real end may be earlier.
    package let validUntil: Timestamp
    /// When it was revoked; nil if it was not.
    package var revoked: Timestamp?

    package init(serial: CertificateSerial, made: Timestamp?, validUntil: Timestamp, revoked: Timestamp? = nil) {
        self.serial = serial
        self.made = made
        self.validUntil = validUntil
        self.revoked = revoked
    }
}

package enum AdministratorLimits {
    /// The largest number of listed certificates, without those that were listed by their revocation. Every node holds
    /// all of them in memory, and reads them again after each change of the accounts. A script that makes a certificate
    /// every five minutes has 8,640 that have not expired.
    package static let maximumCount = 10_000
    /// The largest number of certificates that were listed by their revocation. They are counted separately, so that a
    /// full list does not prevent a revocation.
    package static let maximumUnlisted = 1000
    /// How long a certificate stays listed after it has expired. If a machine's clock is set back by less than this, a
    /// revoked certificate is still refused.
    package static let keptAfterExpiry = Duration.seconds(24 * 60 * 60)
}

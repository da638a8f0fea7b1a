package import Credentials
package import Delivery
package import Notifications
package import Trust

extension CertificateAuthority {
    /// Returns the list of revoked provider certificates. Expired ones need not be in it (RFC 5280, 5).
    package func revocationList(of accounts: AccountsSnapshot, at now: Timestamp) throws(TrustError) -> RevocationList {
        let revoked = accounts.certificates.values.compactMap { certificate in
            certificate.validUntil < now
                ? nil : certificate.revoked.map { (certificate.serial, Double($0.milliseconds) / 1000) }
        }
        return try providerRevocations(
            revoked.sorted { $0.0.description < $1.0.description },
            number: accounts.version,
            now: Double(now.milliseconds) / 1000,
        )
    }
}

import Delivery
import HTTPAPI
import Notifications
import Trust

// Issues administrators' certificates, and lists and revokes them.
extension ManagementAPI {
    /// Makes a key and a certificate with which an administrator uses the API over TLS.
    func makeAdministrator() async throws -> ManagementMessages.AdministratorMade {
        var random = SystemRandomNumberGenerator()
        let now = now
        let issued = try authority.issueAdministratorCertificate(
            now: Double(now.milliseconds) / 1000, using: &random)
        let administrator = AdministratorCertificate(
            serial: issued.serial, made: now,
            validUntil: Timestamp(milliseconds: UInt64(issued.validUntil * 1000)))  // fits: now and CertificateLives
        // List it before handing it out, so that nobody has a certificate that is not in the list.
        _ = try await accounts.apply(.createAdministrator(administrator, at: now))
        return ManagementMessages.AdministratorMade(
            serial: issued.serial.description, identity: (issued.keyPEM ?? "") + issued.chainPEM,
            validUntil: administrator.validUntil.milliseconds)
    }

    /// The listed certificates that have not expired.
    var administrators: [CertificateSerial: AdministratorCertificate] {
        let now = now
        return accounts.current.administrators.filter { $0.value.validUntil >= now }
    }

    func administrator(_ name: String) throws -> ManagementMessages.Administrator {
        let serial = try serial(name)
        return message(try present(administrators[serial], "administrator", serial))
    }

    /// - Parameters:
    ///   - isUnlisted: whether to revoke the certificate also if it is not listed.
    ///   - caller: only some callers may do that.
    func revokeAdministrator(
        _ name: String,
        isUnlisted: Bool,
        by caller: ManagementCaller,
    ) async throws -> ManagementMessages.AdministratorRevoked {
        let serial = try serial(name)
        let now = now
        if isUnlisted {
            guard caller.mayRevokeUnlistedAdministrators else {
                throw Problem(
                    403, "A certificate that is not listed can be revoked only over the socket in the data folder.")
            }
            // No certificate that was made before now is valid for longer.
            let validUntil = now.advanced(by: .seconds(CertificateLives.administrator))
            _ = try await accounts.apply(.revokeUnlistedAdministrator(serial, validUntil: validUntil, at: now))
        } else {
            _ = try await accounts.apply(.revokeAdministrator(serial, at: now))
        }
        return ManagementMessages.AdministratorRevoked(serial: serial.description)
    }

    func message(_ administrator: AdministratorCertificate) -> ManagementMessages.Administrator {
        ManagementMessages.Administrator(
            serial: administrator.serial.description,
            made: administrator.made?.milliseconds,
            validUntil: administrator.validUntil.milliseconds,
            revoked: administrator.revoked?.milliseconds,
        )
    }
}

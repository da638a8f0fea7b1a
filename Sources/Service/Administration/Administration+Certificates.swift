import Courier
import Delivery
import Notifications
import Trust

// Provider certificates.
extension Administration {
    func createCertificate(_ request: AdministrationMessages.NewCertificate) async throws -> AdministrationAnswer {
        let (team, bundleID) = (try teamID(request.team), try bundleID(request.bundleID))
        let environments: [Environment] =
            request.environment == "universal" ? Environment.allCases : [try environment(request.environment)]
        let choice: CertificateTopicChoice = request.listsTopics ? .app : .none
        var random = SystemRandomNumberGenerator()
        let issued = try authority.issueProviderCertificate(
            request: Array(request.request.utf8),
            bundleID: bundleID,
            environments: Set(environments),
            topics: choice,
            now: Double(clock().milliseconds) / 1000,
            using: &random,
        )
        // Kept before it is handed out: a certificate that nobody knows could not be revoked.
        let certificate = TeamCertificate(
            serial: issued.serial,
            team: team,
            bundleID: bundleID,
            environments: Set(environments),
            validUntil: Timestamp(milliseconds: UInt64(issued.validUntil * 1000)),
        )
        _ = try await accounts.apply(.createCertificate(certificate))
        let topics = choice.topics(of: bundleID).map(\.topic)
        return try .success(
            AdministrationMessages.CertificateMade(
                serial: issued.serial.description,
                topics: topics.isEmpty ? [bundleID.rawValue] : topics,
                chain: issued.chainPEM,
            ))
    }

    func revokeCertificate(_ name: String) async throws -> AdministrationAnswer {
        let serial = try serial(name)
        _ = try await accounts.apply(.revokeCertificate(serial, at: clock()))
        return try .success(AdministrationMessages.CertificateRevoked(serial: serial.description))
    }

    func certificate(_ name: String) throws -> AdministrationMessages.Certificate {
        let serial = try serial(name)
        return message(try present(accounts.current.certificates[serial], "certificate", serial))
    }

    func message(_ certificate: TeamCertificate) -> AdministrationMessages.Certificate {
        AdministrationMessages.Certificate(
            serial: certificate.serial.description,
            teamID: certificate.team.rawValue,
            bundleID: certificate.bundleID.rawValue,
            environments: certificate.environments.map(\.rawValue).sorted(),
            validUntil: certificate.validUntil.milliseconds,
            revoked: certificate.revoked?.milliseconds,
        )
    }

    /// The certificates that were revoked, as other software reads it.
    func revocationList() throws -> AdministrationAnswer {
        let list = try authority.revocationList(of: accounts.current, at: clock())
        return AdministrationAnswer(status: 200, contentType: RevocationList.mediaType, body: list.der)
    }

    private func serial(_ name: String) throws -> CertificateSerial {
        guard let serial = CertificateSerial(name) else {
            throw AdministrationError("\(name.debugDescription) is not a serial: 32 hexadecimal digits.")
        }
        return serial
    }
}

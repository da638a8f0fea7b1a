import Credentials
import Crypto
import Delivery
import Foundation
import HTTPAPI
import Notifications
import Trust

// Issues and revokes provider certificates.
extension ManagementAPI {
    func createCertificate(
        _ request: ManagementMessages.NewCertificate
    ) async throws -> ManagementMessages.CertificateMade {
        let passphrase = try PKCS12.passphrase(request.passphrase, format: request.format, at: "")
        guard passphrase == nil || request.request == nil else {
            throw Problem.invalid(
                "/format",
                "The format p12 holds the private key, which the service does not have if there is a request.")
        }
        var issued = try issueCertificate(request)
        issued.made.p12 = try PKCS12.base64(issued.made, passphrase: passphrase)
        // Store the certificate before handing it out: a certificate that the service does not know could not be
        // revoked.
        _ = try await accounts.apply(.createCertificate(issued.certificate))
        return issued.made
    }

    /// Issues a certificate and does not store it. The service refuses it until it is stored with the accounts.
    func issueCertificate(
        _ request: ManagementMessages.NewCertificate
    ) throws -> (made: ManagementMessages.CertificateMade, certificate: TeamCertificate) {
        let (team, bundleID) = (try teamID(request.team), try bundleID(request.bundleID))
        let environments: [Environment] =
            request.environment == ManagementMessages.NewCertificate.universal
            ? Environment.allCases : [try environment(request.environment)]
        let choice: CertificateTopicChoice = request.listsTopics == false ? .none : .app
        let key = request.request == nil ? P256.Signing.PrivateKey() : nil
        let signingRequest = try request.request ?? key.map(SigningRequest.pem(for:)) ?? ""
        var random = SystemRandomNumberGenerator()
        let issued: IssuedCertificate
        do throws(TrustError) {
            issued = try authority.issueProviderCertificate(
                request: Array(signingRequest.utf8),
                bundleID: bundleID,
                environments: Set(environments),
                topics: choice,
                now: Double(now.milliseconds) / 1000,
                using: &random,
            )
        } catch {
            throw request.request == nil ? Problem(400, error.reason) : Problem.invalid("/request", error.reason)
        }
        let certificate = TeamCertificate(
            serial: issued.serial,
            team: team,
            bundleID: bundleID,
            environments: Set(environments),
            validUntil: Timestamp(milliseconds: UInt64(issued.validUntil * 1000)),  // fits: now and CertificateLives
        )
        let topics = choice.topics(of: bundleID).map(\.topic)
        let made = ManagementMessages.CertificateMade(
            serial: issued.serial.description,
            topics: topics.isEmpty ? [bundleID.rawValue] : topics,
            chain: request.includesChain == true ? issued.chainPEM : issued.certificatePEM,
            privateKey: key?.pemRepresentation)
        return (made, certificate)
    }

    func revokeCertificate(_ name: String) async throws -> ManagementMessages.CertificateRevoked {
        let serial = try serial(name)
        _ = try await accounts.apply(.revokeCertificate(serial, at: now))
        return ManagementMessages.CertificateRevoked(serial: serial.description)
    }

    func certificate(_ name: String) throws -> ManagementMessages.Certificate {
        let serial = try serial(name)
        return message(try present(accounts.current.certificates[serial], "certificate", serial))
    }

    func message(_ certificate: TeamCertificate) -> ManagementMessages.Certificate {
        ManagementMessages.Certificate(
            serial: certificate.serial.description,
            teamID: certificate.team.rawValue,
            bundleID: certificate.bundleID.rawValue,
            environments: certificate.environments.map(\.rawValue).sorted(),
            validUntil: certificate.validUntil.milliseconds,
            revoked: certificate.revoked?.milliseconds,
        )
    }
}

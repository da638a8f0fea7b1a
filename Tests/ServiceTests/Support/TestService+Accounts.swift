import APNSDevice
import APNSProvider
import Crypto
import Foundation
import HTTP2
import NIOCore
import NIOPosix
import NIOSSL
import Notifications
import PrivateFiles
import SQLiteStore
import Trust

@testable import Service

/// What an administrator does.
extension TestService {
    /// The answer of the administration's socket; anything but 200 is thrown.
    func administer<Answer: Decodable>(
        _ method: String,
        _ path: String,
        _ message: some Encodable = NoMessage(),
    ) async throws -> Answer {
        let client = try await HTTP2Client.connect(
            to: .unix(path: description.socket), group: MultiThreadedEventLoopGroup.singleton)
        let body = ByteBuffer(bytes: try JSONEncoder().encode(message))
        let response = try await client.send(HTTP2Request(method, path, body: body))
        await client.close()
        let text = String(buffer: response.body)
        guard response.status == 200 else { throw Refusal(status: response.status, body: text) }
        return try JSONDecoder().decode(Answer.self, from: Data(text.utf8))
    }

    struct NoMessage: Encodable {}

    struct Refusal: Error {
        let status: Int
        let body: String
    }

    /// A provider certificate for the app that every service has.
    func makeCertificate(
        _ environment: String = "universal", listsTopics: Bool = true
    ) async throws -> ClientCertificate {
        let key = P256.Signing.PrivateKey()
        let made: AdministrationMessages.CertificateMade = try await administer(
            "POST", "/certificates",
            AdministrationMessages.NewCertificate(
                team: try required(description.key).teamID, bundleID: bundleID, environment: environment,
                request: try SigningRequest.pem(for: key), listsTopics: listsTopics))
        return ClientCertificate(serial: made.serial, chainPEM: made.chain, keyPEM: key.pemRepresentation)
    }

    /// A provider token that is signed with a new key, which is good for one environment or some apps alone.
    /// - Parameter team: the development team where it is nil.
    func limitedToken(
        of team: String? = nil, environment: Environment? = nil, bundleIDs: [String]? = nil,
    ) async throws -> String {
        let key = P256.Signing.PrivateKey()
        let team = try team ?? required(description.key).teamID
        let made: AdministrationMessages.KeyMade = try await administer(
            "POST", "/keys",
            AdministrationMessages.NewKey(
                team: team, publicKey: key.publicKey.x963Representation.base64EncodedString(),
                environment: environment?.rawValue, bundleIDs: bundleIDs))
        let credentials = try ProviderCredentials(key: key.pemRepresentation, keyID: made.keyID, teamID: team)
        return try credentials.token(at: UInt64(Date().timeIntervalSince1970))
    }

    func revoke(_ certificate: ClientCertificate) async throws {
        let _: AdministrationMessages.CertificateRevoked = try await administer(
            "DELETE", "/certificates/\(certificate.serial)")
    }

    /// A certificate that the authority signs without the accounts knowing it, as one does that was issued before the data
    /// folder came back from a backup.
    func issueCertificate(for name: String) async throws -> ClientCertificate {
        let secrets = try await SharedSecrets.load(
            from: FileSecrets(folder: service.folder.path + "/secrets"), now: .now())
        var random = SystemRandomNumberGenerator()
        let key = P256.Signing.PrivateKey()
        let issued = try secrets.authority.issueProviderCertificate(
            request: Array(SigningRequest.pem(for: key).utf8), bundleID: required(BundleID(rawValue: name)),
            environments: [environment], now: Date().timeIntervalSince1970, using: &random)
        return ClientCertificate(chainPEM: issued.chainPEM, keyPEM: key.pemRepresentation)
    }

    func makeDeviceCertificate() async throws -> ClientCertificate {
        let identity = try await APNSDevice.DeviceIdentity.activate(at: courier, environment: deviceEnvironment)
        return ClientCertificate(chainPEM: identity.chainPEM, keyPEM: identity.keyPEM)
    }

    /// What the service calls the device of a certificate.
    func deviceID(of certificate: ClientCertificate) async throws -> String {
        let name = try required(
            NIOSSLCertificate.fromPEMBytes(Array(certificate.chainPEM.utf8)).first?.description)
        return try required(name.firstMatch(of: /Device ([0-9a-f]{16})/).map { String($0.1) })
    }

    /// A connection to the courier, with a certificate or without one.
    func connectCourier(_ certificate: ClientCertificate? = nil) async throws -> WireClient {
        try await WireClient.connect(port: port(\.courier), authorityFile: description.ca, certificate: certificate)
    }

    /// A connection to the provider API with a certificate.
    func connectProvider(_ certificate: ClientCertificate) async throws -> WireClient {
        try await WireClient.connect(
            port: port(\.provider), authorityFile: description.ca, certificate: certificate)
    }
}

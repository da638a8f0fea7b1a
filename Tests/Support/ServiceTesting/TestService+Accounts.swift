import APNSDevice
import AsyncHTTPClient
import Credentials
import Crypto
import Foundation
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import NIOPosix
import NIOSSL
import Management
import Notifications
import PrivateFiles
import SQLiteStore
import Trust

import Service

/// The operations of an administrator.
extension TestService {
    /// Sends a request to the management API over its Unix socket. Throws unless the status is 200.
    func administer<Answer: Decodable>(
        _ method: String,
        _ path: String,
        _ message: (some Encodable)? = Never?.none,
    ) async throws -> Answer {
        let answer = try await manage(method, path, try message.map { try JSONEncoder().encode($0) })
        guard answer.status == 200 else {
            throw Refusal(status: answer.status, body: String(decoding: answer.body, as: UTF8.self))
        }
        return try JSONDecoder().decode(Answer.self, from: answer.body)
    }

    /// Sends a request to the management API over its Unix socket, and returns any answer.
    func manage(_ method: String, _ path: String, _ body: Data? = nil) async throws -> (status: Int, body: Data) {
        let socket = try required(description.socket.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        var request = HTTPClientRequest(url: "http+unix://\(socket)\(path)")
        request.method = .RAW(value: method)
        if let body {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(body)
        }
        let response = try await HTTPClient.shared.execute(request, deadline: .distantFuture)
        let bytes = try await response.body.collect(upTo: 1 << 24)
        return (Int(response.status.code), Data(buffer: bytes))
    }

    struct Refusal: Error {
        let status: Int
        let body: String
    }

    /// Makes a team and returns its ID.
    func createTeam() async throws -> String {
        let made: ManagementMessages.TeamMade = try await administer(
            "POST", "/v1/teams", ManagementMessages.NewTeam(name: "Other"))
        return made.teamID
    }

    /// - Parameter team: the app's team; nil for the development team.
    func createApp(_ bundleID: String, of team: String? = nil) async throws {
        let _: ManagementMessages.AppMade = try await administer(
            "POST", "/v1/apps",
            ManagementMessages.NewApp(team: try team ?? required(description.key).teamID, bundleID: bundleID))
    }

    /// Makes a provider certificate for the app of the first start.
    func makeCertificate(
        _ environment: String = "universal", listsTopics: Bool = true
    ) async throws -> ClientCertificate {
        let key = P256.Signing.PrivateKey()
        let made: ManagementMessages.CertificateMade = try await administer(
            "POST", "/v1/certificates",
            ManagementMessages.NewCertificate(
                team: try required(description.key).teamID, bundleID: bundleID, environment: environment,
                request: try SigningRequest.pem(for: key), listsTopics: listsTopics))
        return ClientCertificate(serial: made.serial, chainPEM: made.chain, keyPEM: key.pemRepresentation)
    }

    /// Makes a provider token with a new key, which is valid only for one environment or some apps.
    /// - Parameter team: the key's team; nil for the development team.
    func limitedToken(
        of team: String? = nil, environment: Environment? = nil, bundleIDs: [String]? = nil,
    ) async throws -> String {
        let team = try team ?? required(description.key).teamID
        return try await createKey(of: team, environment: environment, bundleIDs: bundleIDs).token()
    }

    /// Makes a signing key.
    /// - Parameters:
    ///   - environment: the environment it is for; nil for both.
    ///   - bundleIDs: the apps it is for; nil for all of the team.
    func createKey(
        of team: String, environment: Environment? = nil, bundleIDs: [String]? = nil,
    ) async throws -> Provider {
        let key = P256.Signing.PrivateKey()
        let made: ManagementMessages.KeyMade = try await administer(
            "POST", "/v1/keys",
            ManagementMessages.NewKey(
                team: team, publicKey: key.publicKey.x963Representation.base64EncodedString(),
                environment: environment?.rawValue, bundleIDs: bundleIDs))
        return Provider(teamID: team, keyID: made.keyID, key: key)
    }

    func revoke(_ certificate: ClientCertificate) async throws {
        let _: ManagementMessages.CertificateRevoked = try await administer(
            "DELETE", "/v1/certificates/\(certificate.serial)")
    }

    /// Issues a certificate that the accounts do not list. This happens if the data folder is restored from an older
    /// backup.
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

    /// Issues an administrator's certificate that is not listed, as earlier releases did.
    func issueAdministrator() async throws -> ClientCertificate {
        let secrets = try await SharedSecrets.load(
            from: FileSecrets(folder: service.folder.path + "/secrets"), now: .now())
        var random = SystemRandomNumberGenerator()
        let issued = try secrets.authority.issueAdministratorCertificate(
            now: Date().timeIntervalSince1970, using: &random)
        return ClientCertificate(
            serial: issued.serial.description, chainPEM: issued.chainPEM, keyPEM: try required(issued.keyPEM))
    }

    func makeDeviceCertificate() async throws -> ClientCertificate {
        let identity = try await APNSDevice.DeviceIdentity.activate(at: courier, environment: environment)
        return ClientCertificate(chainPEM: identity.chainPEM, keyPEM: identity.keyPEM)
    }

    /// Returns the ID of a certificate's device.
    func deviceID(of certificate: ClientCertificate) async throws -> String {
        let name = try required(
            NIOSSLCertificate.fromPEMBytes(Array(certificate.chainPEM.utf8)).first?.description)
        return try required(name.firstMatch(of: /Device ([0-9a-f]{16})/).map { String($0.1) })
    }

    /// Connects to the courier, with or without a certificate.
    func connectCourier(_ certificate: ClientCertificate? = nil) async throws -> WireClient {
        try await WireClient.connect(port: port(\.courier), authorityFile: description.ca, certificate: certificate)
    }

    /// Connects to the provider API with a certificate.
    func connectProvider(_ certificate: ClientCertificate) async throws -> WireClient {
        try await WireClient.connect(
            port: port(\.provider), authorityFile: description.ca, certificate: certificate)
    }
}

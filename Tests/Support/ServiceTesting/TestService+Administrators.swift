import AsyncHTTPClient
import Foundation
import Management
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import NIOSSL
import Service

// The management API over TLS.
extension TestService {
    /// A setting for services that administrators reach over TLS.
    static func withManagementTLS(_ settings: inout Settings) {
        settings.managementTLS = ListenAddress(host: "127.0.0.1", port: 0)
    }

    /// Makes an administrator's certificate over the Unix socket.
    func makeAdministrator() async throws -> ClientCertificate {
        let made: ManagementMessages.AdministratorMade = try await administer("POST", "/v1/administrators")
        let start = try required(made.identity.range(of: "-----BEGIN CERTIFICATE")).lowerBound
        return ClientCertificate(
            serial: made.serial, chainPEM: String(made.identity[start...]), keyPEM: String(made.identity[..<start]))
    }

    /// Sends a request over TLS, and returns the answer before its body has arrived.
    /// - Parameter certificate: the client's certificate; nil for none.
    func open(
        _ method: String,
        _ path: String,
        as certificate: ClientCertificate?,
    ) async throws -> HTTPClientResponse {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(description.ca)
        if let certificate {
            tls.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.chainPEM.utf8))
                .map { .certificate($0) }
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(certificate.keyPEM.utf8), format: .pem))
        }
        var request = HTTPClientRequest(url: "https://\(try required(description.managementTLS))\(path)")
        request.method = .RAW(value: method)
        request.tlsConfiguration = tls
        return try await HTTPClient.shared.execute(request, deadline: .now() + .seconds(30))
    }

    /// Sends a request over TLS.
    func ask(
        _ method: String,
        _ path: String,
        as certificate: ClientCertificate?,
    ) async throws -> ManagementAnswer {
        let response = try await open(method, path, as: certificate)
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return ManagementAnswer(
            status: Int(response.status.code), headers: response.headers, body: Data(buffer: bytes))
    }
}

import Credentials
import Crypto
import Foundation
import HTTP2
import Notifications
import PrivateFiles
import SQLiteStore
import Testing
import Trust
import X509

@testable import Service
@testable import ServiceTesting

/// Invalid client certificates over real TLS, at the ports for providers and devices. The handshake is refused, and
/// other clients are not affected.
@Suite(.timeLimit(.minutes(2)))
struct BadCertificateTests {
    enum Port: CaseIterable, Sendable { case provider, courier }

    /// The fault of a certificate.
    enum Fault: CaseIterable, Sendable {
        case nothing, expired, notYetValid, wrongUsage, selfSigned, tooLarge, chainTooLong, otherAuthority, server

        var certificate: ForgedCertificate {
            switch self {
            case .expired:
                ForgedCertificate(
                    notBefore: Date(timeIntervalSinceNow: -7200), notAfter: Date(timeIntervalSinceNow: -60))
            case .notYetValid: ForgedCertificate(notBefore: Date(timeIntervalSinceNow: 60))
            case .wrongUsage: ForgedCertificate(usage: .serverAuth)
            case .selfSigned: ForgedCertificate(isSelfSigned: true)
            case .tooLarge: ForgedCertificate(paddingBytes: CertificateAuthority.maximumCertificateBytes)
            case .chainTooLong: ForgedCertificate(intermediates: CertificateAuthority.maximumChainLength)
            case .nothing, .otherAuthority, .server: ForgedCertificate()
            }
        }
    }

    private func certificate(
        _ fault: Fault,
        for port: Port,
        _ own: CertificateAuthority,
        _ listed: ClientCertificate,
    ) throws -> ClientCertificate {
        var random = SystemRandomNumberGenerator()
        let now = Date().timeIntervalSince1970
        if fault == .server {
            let issued = try own.issueServerCertificate(names: [], now: now, using: &random)
            return ClientCertificate(chainPEM: issued.chainPEM, keyPEM: try required(issued.keyPEM))
        }
        let authority = fault == .otherAuthority ? try CertificateAuthority.create(now: now, using: &random) : own
        switch port {
        case .provider:
            return try fault.certificate.make(like: listed.chainPEM, by: authority.secrets.providers)
        case .courier:
            let request = try SigningRequest.pem(for: P256.Signing.PrivateKey())
            let good = try authority.issueDeviceCertificate(
                request: Array(request.utf8), device: DeviceID(rawValue: 7), environment: .development, now: now,
                using: &random)
            return try fault.certificate.make(like: good.chainPEM, by: authority.secrets.devices)
        }
    }

    @Test(arguments: Port.allCases)
    func `Only the certificate without a fault is accepted`(port: Port) async throws {
        try await TestService.run { test in
            let secrets = try await SharedSecrets.load(
                from: FileSecrets(folder: test.service.folder.path + "/secrets"), now: .now())
            let headers = [
                (":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", "/nothing"),
            ]
            let listed = try await test.makeCertificate()
            var served: [Fault] = []
            for fault in Fault.allCases {
                let certificate = try certificate(fault, for: port, secrets.authority, listed)
                let client =
                    port == .provider
                    ? try await test.connectProvider(certificate) : try await test.connectCourier(certificate)
                if await client.isServed(headers) { served.append(fault) }
                await client.close()
            }
            #expect(served == [.nothing])
        }
    }
}

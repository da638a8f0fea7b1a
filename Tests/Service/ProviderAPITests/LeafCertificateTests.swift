import Foundation
import NIOSSL
import Service
import Testing

@testable import ServiceTesting

/// The service completes a client's chain from its own intermediates.
@Suite(.timeLimit(.minutes(2)))
struct LeafCertificateTests {
    enum Port: CaseIterable, Sendable {
        case provider, channels, binary, feedback, courier

        var address: KeyPath<ServiceDescription.Addresses, String> {
            switch self {
            case .provider: \.provider
            case .channels: \.channels
            case .binary: \.binary
            case .feedback: \.feedback
            case .courier: \.courier
            }
        }
    }

    @Test(arguments: Port.allCases)
    func `A client's own certificate without its chain is enough`(port: Port) async throws {
        let protocols: [String] = port == .binary || port == .feedback ? [] : ["h2"]
        try await TestService.run { test in
            let certificate =
                port == .courier ? try await test.makeDeviceCertificate() : try await test.makeCertificate()
            let own = try NIOSSLCertificate.fromPEMBytes(Array(certificate.chainPEM.utf8)).prefix(1)
            let key = try NIOSSLPrivateKey(bytes: Array(certificate.keyPEM.utf8), format: .pem)
            let authority = try String(contentsOfFile: test.description.ca, encoding: .utf8)
            // With TLS 1.3 a client does not wait for what the server says of its certificate.
            let agreed = try await TLSProbe.shakeHands(port: test.port(port.address), trusting: [authority]) { tls in
                tls.maximumTLSVersion = .tlsv12
                tls.applicationProtocols = protocols
                tls.certificateVerification = .noHostnameVerification
                tls.certificateChain = own.map { .certificate($0) }
                tls.privateKey = .privateKey(key)
            }
            #expect(agreed == protocols.first)
        }
    }
}

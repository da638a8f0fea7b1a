import CommonTesting
import Foundation
import NIOSSL
import Service
import Testing

@testable import ServiceTesting

/// With which protocols, ciphers and certificates the service's ports accept a connection.
@Suite(.timeLimit(.minutes(2)))
struct HandshakeTests {
    /// The ports with TLS, and what is spoken there.
    private static func ports(_ test: TestService) throws -> [(port: Int, protocol: String?)] {
        let management = try required(test.description.managementTLS?.split(separator: ":").last.flatMap { Int($0) })
        return [
            (try test.port(\.provider), "h2"), (try test.port(\.courier), "h2"), (try test.port(\.channels), "h2"),
            (try test.port(\.binary), nil), (try test.port(\.feedback), nil), (management, "http/1.1"),
        ]
    }

    private static func present(_ certificate: ClientCertificate) throws -> (inout TLSConfiguration) -> Void {
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.chainPEM.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(certificate.keyPEM.utf8), format: .pem)
        return { tls in
            tls.certificateChain = chain.map { .certificate($0) }
            tls.privateKey = .privateKey(key)
        }
    }

    /// Completes the handshake, or throws.
    /// - Returns: the protocol that was agreed on.
    private func shakeHands(
        with test: TestService,
        at port: Int,
        _ change: (inout TLSConfiguration) -> Void,
    ) async throws -> String? {
        try await TLSProbe.shakeHands(
            port: port, trusting: [try String(contentsOfFile: test.description.ca, encoding: .utf8)], change)
    }

    @Test
    func `At each port a client that offers its protocol or none is accepted, and one that offers only others is not`()
        async throws
    {
        try await TestService.run(TestService.withManagementTLS) { test in
            for (port, own) in try Self.ports(test) {
                let others = ["h3", "x"]
                if let own {
                    #expect(
                        try await shakeHands(with: test, at: port) { $0.applicationProtocols = others + [own] } == own)
                }
                #expect(try await shakeHands(with: test, at: port) { $0.applicationProtocols = [] } == nil)
                let error = await #expect(throws: (any Error).self) {
                    try await shakeHands(with: test, at: port) { $0.applicationProtocols = others }
                }
                #expect("\(error as Any)".contains("NO_APPLICATION_PROTOCOL"), "\(own ?? "none"): \(error as Any)")
            }
        }
    }

    @Test func `With TLS 1.2 only authenticated encryption is allowed`() async throws {
        try await TestService.run(TestService.withManagementTLS) { test in
            let certificate = try await test.makeCertificate()
            for (port, own) in try Self.ports(test) {
                // A port of the binary API accepts no client without a certificate.
                let present: (inout TLSConfiguration) -> Void =
                    try own == nil ? Self.present(certificate) : { _ in }
                func shakeHands(_ ciphers: NIOTLSCipher...) async throws -> String? {
                    try await self.shakeHands(with: test, at: port) {
                        present(&$0)
                        $0.applicationProtocols = own.map { [$0] } ?? []
                        $0.maximumTLSVersion = .tlsv12
                        $0.cipherSuiteValues = ciphers
                    }
                }
                #expect(try await shakeHands(.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256) == own)
                #expect(try await shakeHands(.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256) == own)
                await #expect(throws: (any Error).self) {
                    try await shakeHands(.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, .TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA)
                }
            }
        }
    }

    @Test(.startsPrograms) func `No port asks for a signature with SHA-1`() async throws {
        try await TestService.run(TestService.withManagementTLS) { test in
            for (port, _) in try Self.ports(test) {
                let finished = try await ChildProcess.run(
                    "openssl", ["s_client", "-connect", "127.0.0.1:\(port)", "-tls1_2"])
                let asked = finished.output.split(separator: "\n").first { $0.hasPrefix("Requested Signature Algo") }
                #expect(asked?.contains("SHA256") == true && asked?.contains("SHA1") == false, "\(finished.output)")
            }
        }
    }

    /// With TLS 1.3 the alert is encrypted, and NIOSSL sends one for every reason.
    @Test func `With TLS 1.2 a client learns why its certificate is refused`() async throws {
        try await TestService.run(TestService.withManagementTLS) { test in
            let revoked = try await test.makeCertificate()
            #expect(try await test.ask("DELETE", "/v1/certificates/\(revoked.serial)").status == 200)
            let other = try await test.makeDeviceCertificate()
            typealias Address = KeyPath<ServiceDescription.Addresses, String>
            let cases: [(String, ClientCertificate, Address)] = [
                ("CERTIFICATE_REVOKED", revoked, \.provider), ("UNKNOWN_CA", other, \.provider),
                ("CERTIFICATE_REVOKED", revoked, \.binary), ("CERTIFICATE_REVOKED", revoked, \.feedback),
                ("UNKNOWN_CA", other, \.binary), ("UNKNOWN_CA", revoked, \.courier),
            ]
            for (name, certificate, path) in cases {
                let present = try Self.present(certificate)
                let error = await #expect(throws: (any Error).self) {
                    try await shakeHands(with: test, at: try test.port(path)) {
                        present(&$0)
                        $0.applicationProtocols = []
                        $0.maximumTLSVersion = .tlsv12
                    }
                }
                #expect("\(error as Any)".contains(name), "\(error as Any)")
            }
        }
    }
}

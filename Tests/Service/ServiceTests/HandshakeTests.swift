import Foundation
import NIOSSL
import Service
import Testing

@testable import ServiceTesting

/// With which protocols and ciphers the HTTP/2 ports accept a connection.
@Suite(.timeLimit(.minutes(2)))
struct HandshakeTests {
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
    func `A client that offers HTTP/2 or no protocol is accepted; a client that offers only other protocols is not`()
        async throws
    {
        try await TestService.run { test in
            for port in [try test.port(\.provider), try test.port(\.courier)] {
                #expect(try await shakeHands(with: test, at: port) { _ in } == "h2")
                #expect(
                    try await shakeHands(with: test, at: port) { $0.applicationProtocols = ["http/1.1", "h2"] } == "h2")
                #expect(try await shakeHands(with: test, at: port) { $0.applicationProtocols = [] } == nil)
                await #expect(throws: (any Error).self) {
                    try await shakeHands(with: test, at: port) { $0.applicationProtocols = ["http/1.1"] }
                }
            }
        }
    }

    @Test func `With TLS 1.2 only authenticated encryption is allowed`() async throws {
        try await TestService.run { test in
            for port in [try test.port(\.provider), try test.port(\.courier)] {
                func shakeHands(_ ciphers: NIOTLSCipher...) async throws -> String? {
                    try await self.shakeHands(with: test, at: port) {
                        $0.maximumTLSVersion = .tlsv12
                        $0.cipherSuiteValues = ciphers
                    }
                }
                #expect(try await shakeHands(.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256) == "h2")
                #expect(try await shakeHands(.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256) == "h2")
                await #expect(throws: (any Error).self) {
                    try await shakeHands(.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, .TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA)
                }
            }
        }
    }
}

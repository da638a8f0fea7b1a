import CommonTesting
import Foundation
import NIOSSL
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// With which protocols and ciphers the server accepts a connection.
@Suite(.startsPrograms, .timeLimit(.minutes(2))) struct ServerTLSTests {
    /// Runs a server with an RSA certificate, which many authorities issue.
    private func withServer(
        _ body: (_ probe: ((inout TLSConfiguration) -> Void) async throws -> String?) async throws -> Void
    ) async throws {
        try await TestProvider.withFolder { folder in
            let files = (certificate: folder + "-tls.pem", key: folder + "-tls.key")
            defer { for file in [files.certificate, files.key] { try? FileManager.default.removeItem(atPath: file) } }
            let made = try await ChildProcess.run(
                "openssl",
                [
                    "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", files.key, "-out", files.certificate,
                ])
            try #require(made.status == 0, "\(made.errors)")
            let root = try String(contentsOfFile: files.certificate, encoding: .utf8)
            try await TestProvider.run(folder: folder) {
                $0.tls = files
            } _: { provider in
                let port = try required(provider.url.split(separator: ":").last.flatMap { Int($0) })
                try await body { try await TLSProbe.shakeHands(port: port, trusting: [root], $0) }
            }
        }
    }

    @Test func `A client that offers only other protocols is refused, and one that offers none is not`() async throws {
        try await withServer { probe in
            let agreed = try await probe { $0.applicationProtocols = ["h3", "h2"] }
            #expect(agreed == "h2")
            #expect(try await probe { $0.applicationProtocols = ["http/1.1"] } == "http/1.1")
            #expect(try await probe { $0.applicationProtocols = [] } == nil)
            let error = await #expect(throws: (any Error).self) {
                try await probe { $0.applicationProtocols = ["h3", "x"] }
            }
            #expect("\(error as Any)".contains("NO_APPLICATION_PROTOCOL"), "\(error as Any)")
        }
    }

    /// RFC 9113, 9.2.2.
    @Test func `With TLS 1.2 neither static RSA nor CBC is accepted`() async throws {
        try await withServer { probe in
            func shakeHands(_ ciphers: NIOTLSCipher...) async throws -> String? {
                try await probe {
                    $0.maximumTLSVersion = .tlsv12
                    $0.cipherSuiteValues = ciphers
                }
            }
            let agreed = try await shakeHands(.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256)
            #expect(agreed == "h2")
            for cipher in [
                NIOTLSCipher.TLS_RSA_WITH_AES_128_GCM_SHA256, .TLS_RSA_WITH_AES_128_CBC_SHA,
                .TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, .TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,
            ] {
                await #expect(throws: (any Error).self) { try await shakeHands(cipher) }
            }
        }
    }
}

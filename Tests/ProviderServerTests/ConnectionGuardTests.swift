import Foundation
import NIOCore
import NIOHTTP1
import Testing
import Trust

@testable import ProviderServer
@testable import ServiceTesting

/// Connections that no request ends: they are closed while the server runs, and do not keep it from ending.
@Suite(.timeLimit(.minutes(1))) struct ConnectionGuardTests {
    /// The beginning of an HTTP/2 connection: the preface and empty SETTINGS (RFC 9113, 3.4).
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]

    /// Makes a certificate in the folder, and returns the settings for it and the file of its authority.
    private static func makeTLS(_ folder: String) throws -> (tls: (certificate: String, key: String), authority: String)
    {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var generator = SystemRandomNumberGenerator()
        let now = Date().timeIntervalSince1970
        let authority = try CertificateAuthority.create(now: now, using: &generator)
        let issued = try authority.issueServerCertificate(names: [], now: now, using: &generator)
        let files = [
            ("/server.pem", issued.chainPEM), ("/server.key", issued.keyPEM ?? ""), ("/root.pem", authority.rootPEM),
        ]
        for (name, text) in files { try text.write(toFile: folder + name, atomically: true, encoding: .utf8) }
        return ((folder + "/server.pem", folder + "/server.key"), folder + "/root.pem")
    }

    private static func withTLS(
        _ change: (inout ProviderServer.Settings) -> Void,
        _ body: (_ provider: TestProvider, _ port: Int, _ authority: String) async throws -> Void,
    ) async throws {
        try await TestProvider.withFolder { folder in
            let (tls, authority) = try makeTLS(folder + "-tls")
            try await TestProvider.run(folder: folder) {
                $0.tls = tls
                change(&$0)
            } _: { provider in
                let port = try required(provider.url.split(separator: ":").last.flatMap { Int($0) })
                try await body(provider, port, authority)
            }
            try FileManager.default.removeItem(atPath: folder + "-tls")
        }
    }

    @Test func `A client that never begins TLS, or that answers no PING, loses its connection`() async throws {
        try await Self.withTLS {
            $0.idleTimeout = .seconds(1)
        } _: { provider, port, authority in
            let silent = try await RawClient.connect(provider)
            let onlyTLS = try await ByteClient.connect(port: port, authorityFile: authority, protocols: ["h2"])
            let unanswering = try await ByteClient.connect(port: port, authorityFile: authority, protocols: ["h2"])
            try await unanswering.write(Self.preface)
            #expect(await silent.readToEnd() == "")
            _ = await onlyTLS.readToEnd()
            // It gets SETTINGS first, and GOAWAY before the end.
            #expect(await unanswering.readToEnd().count > 9)
        }
    }

    @Test func `Connections without a request do not keep the server from ending`() async throws {
        try await Self.withTLS {
            $0.endTimeout = .seconds(1)
        } _: { provider, port, authority in
            _ = try await RawClient.connect(provider)
            let unanswering = try await ByteClient.connect(port: port, authorityFile: authority, protocols: ["h2"])
            try await unanswering.write(Self.preface)
            _ = await unanswering.read(9)
        }
    }

    @Test func `Requests that never end do not keep the server from ending`() async throws {
        try await TestShop.run(devices: []) {
            $0.endTimeout = .seconds(1)
        } _: { shop in
            let key = "authorization: Bearer \(shop.serverKey)\r\n"
            let waiting = try await RawClient.connect(shop.provider)
            try await waiting.write(
                "PUT /v1/installations/i HTTP/1.1\r\nhost: x\r\n\(key)content-length: 100\r\nexpect: 100-continue\r\n\r\n{"
            )
            #expect(await waiting.next()?.hasPrefix("HTTP/1.1 100 ") == true)
            let importing = try await RawClient.connect(shop.provider)
            try await importing.write(
                "POST /v1/installations/import HTTP/1.1\r\nhost: x\r\n\(key)content-type: text/csv\r\n"
                    + "expect: 100-continue\r\ntransfer-encoding: chunked\r\n\r\n")
            #expect(await importing.next()?.hasPrefix("HTTP/1.1 100 ") == true)
            // Sends fast enough for the limit of slow bodies, until the server closes the connection.
            Task {
                while (try? await importing.write("800\r\n\(String(repeating: "a", count: 0x7ff))\n\r\n")) != nil {
                    try await Task.sleep(for: .milliseconds(100))
                }
            }
        }
    }

    @Test func `A client that got its answer cannot hold the connection with an endless body`() async throws {
        try await TestProvider.run {
            $0.idleTimeout = .seconds(1)
        } _: { provider in
            let client = try await RawClient.connect(provider)
            try await client.write(
                "POST /v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
            #expect(try await client.answer().hasPrefix("HTTP/1.1 401 "))
            while (try? await client.write("800\r\n\(String(repeating: "a", count: 0x7ff))\n\r\n")) != nil {
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }
}

import HTTP2
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// The provider server over HTTP/2.
@Suite(.timeLimit(.minutes(2))) struct ServerHTTP2Tests {
    private static func request(
        _ method: String, _ path: String, _ more: [(String, String)] = []
    ) -> [(String, String)] {
        [(":method", method), (":scheme", "https"), (":authority", "127.0.0.1"), (":path", path)] + more
    }

    @Test func `A malformed request is reset, and the other requests of its connection are answered`() async throws {
        try await TestProvider.runWithTLS { _, port, authority in
            let client = try await WireClient.connect(port: port, authorityFile: authority)
            // The server waits for the body of this one.
            let open = try await client.begin(
                Self.request("POST", "/v1/messages", [("authorization", "Bearer none")]), body: "{}")
            let malformed = try await client.send(Self.request("POST", "/v1/messages", [("content-length", "9")]))
            #expect(malformed.status == 0 && malformed.error == .protocolError)
            #expect(try await open.finish().status == 401)
            let health = try await client.send(Self.request("GET", "/health"), body: "")
            #expect(health.status == 200 && health["date"]?.hasSuffix(" GMT") == true)
            await client.close()
        }
    }

    @Test func `A long list arrives whole, and so do the answers that come meanwhile`() async throws {
        try await TestProvider.runWithTLS { provider, port, authority in
            let client = try await WireClient.connect(port: port, authorityFile: authority)
            let key = [("authorization", "Bearer \(provider.administratorKey)")]
            let first = try await client.send(Self.request("GET", "/openapi.json", key), body: "")
            #expect(first.status == 200 && first.body.utf8.count > 65_535)
            async let second = client.send(Self.request("GET", "/openapi.json", key), body: "")
            async let head = client.send(Self.request("HEAD", "/openapi.json", key), body: "")
            #expect(try await second.body == first.body)
            let fields = try await head
            #expect(fields.body == "" && fields["content-length"] == "\(first.body.utf8.count)")
            await client.close()
        }
    }
}

import NIOCore
import Testing

@testable import ServiceTesting

/// Requests over HTTP/1.1 of a form that only attackers and faulty programs use.
@Suite(.timeLimit(.minutes(2))) struct RequestFormTests {
    private func address(_ provider: TestProvider) throws -> SocketAddress {
        let port = try required(provider.url.split(separator: ":").last.flatMap { Int($0) })
        return try SocketAddress(ipAddress: "127.0.0.1", port: port)
    }

    @Test func `A request that is not certain is refused, and nothing behind it is read`() async throws {
        try await TestProvider.run { provider in
            let server = try address(provider)
            for form in RawHTTP.refused {
                let statuses = try await RawHTTP.statuses(form.bytes("/health"), at: server)
                #expect(statuses == form.statuses, "\(form.name)")
            }
        }
    }

    @Test func `A whole URL is accepted, and the field beside it has no effect`() async throws {
        try await TestProvider.run { provider in
            let server = try address(provider)
            let url = RawHTTP.absolute("http://127.0.0.1/health", host: "push.example.com")
            #expect(try await RawHTTP.statuses(url, at: server) == [200])
        }
    }

    @Test func `A body that breaks off gets one answer`() async throws {
        try await TestProvider.run { provider in
            let server = try address(provider)
            for path in ["/v1/apps", "/health", "/v1/messages"] {
                #expect(try await RawHTTP.statuses(RawHTTP.brokenChunk(path), at: server).count == 1)
            }
        }
    }

    @Test func `A client with HTTP 1.0 needs no host`() async throws {
        try await TestProvider.run { provider in
            let server = try address(provider)
            let request = "GET /health HTTP/1.0\r\nconnection: close\r\n\r\n"
            #expect(try await RawHTTP.statuses(request, at: server) == [200])
        }
    }
}

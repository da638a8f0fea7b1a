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
            #expect(try await RawHTTP.statuses("GET /health HTTP/1.0\r\n\r\n", at: server) == [200])
        }
    }

    @Test func `The connection ends after the answer to its last request`() async throws {
        try await TestProvider.run { provider in
            let server = try address(provider)
            for request in RawHTTP.last("/health") {
                let text = try await RawHTTP.exchange(request, at: server)
                #expect(text.hasPrefix("HTTP/1.\(request.contains("HTTP/1.0") ? 0 : 1) 200 "), "\(request)")
                #expect(text.lowercased().contains("\r\nconnection: close\r\n"), "\(request)")
                #expect(text.matches(of: #/HTTP/1/#).count == 1, "\(request)")
            }
        }
    }

    @Test func `Requests that were sent ahead are answered before the last one`() async throws {
        try await TestProvider.run { provider in
            let server = try address(provider)
            let request = "GET /health HTTP/1.1\r\nhost: localhost\r\n"
            let bytes = request + "\r\n" + request + "\r\n" + request + "connection: close\r\n\r\n"
            #expect(try await RawHTTP.statuses(bytes, at: server) == [200, 200, 200])
            // What breaks off behind them is answered after them.
            let broken = RawHTTP.brokenChunk("/v1/apps")
            let statuses = try await RawHTTP.statuses(request + "\r\n" + request + "\r\n" + broken, at: server)
            #expect(Array(statuses.prefix(2)) == [200, 200] && statuses.count == 3)
        }
    }
}

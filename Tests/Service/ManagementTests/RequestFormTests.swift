import Foundation
import NIOCore
import Service
import Testing

@testable import ServiceTesting

/// Requests over HTTP/1.1 of a form that only attackers and faulty programs use.
@Suite(.timeLimit(.minutes(2))) struct RequestFormTests {
    private func addresses(_ test: TestService) throws -> [SocketAddress] {
        let port = try required(try URL(string: test.managementURL)?.port)
        return [
            try SocketAddress(ipAddress: "127.0.0.1", port: port),
            try SocketAddress(unixDomainSocketPath: test.description.socket),
        ]
    }

    @Test func `A request that is not certain is refused, and nothing behind it is read`() async throws {
        try await TestService.run { test in
            for (address, refused) in zip(try addresses(test), [RawHTTP.refused, RawHTTP.refusedOnSockets]) {
                for form in refused {
                    let statuses = try await RawHTTP.statuses(form.bytes("/health"), at: address)
                    #expect(statuses == form.statuses, "\(form.name) at \(address)")
                }
            }
        }
    }

    @Test func `The check of the host is about the host of a whole URL`() async throws {
        try await TestService.run { test in
            let address = try addresses(test)[0]
            let own = RawHTTP.absolute("http://127.0.0.1/health", host: "evil.example")
            #expect(try await RawHTTP.statuses(own, at: address) == [200])
            let other = RawHTTP.absolute("http://evil.example/health", host: "127.0.0.1")
            #expect(try await RawHTTP.statuses(other, at: address) == [403])
        }
    }

    @Test func `A host without a name is one of a Unix socket only`() async throws {
        try await TestService.run { test in
            let request = "GET /health HTTP/1.1\r\nhost:\r\nconnection: close\r\n\r\n"
            let addresses = try addresses(test)
            #expect(try await RawHTTP.statuses(request, at: addresses[0]) == [400])
            #expect(try await RawHTTP.statuses(request, at: addresses[1]) == [200])
        }
    }

    @Test(arguments: [
        ("/v1/teams/%C3", "The path has bytes after percent signs that are not UTF-8."),
        ("/v1/teams/%C", "The path has a percent sign without two hexadecimal digits after it."),
        ("/v1/requests?team=%ff", "The query has bytes after percent signs that are not UTF-8."),
        ("/v1/requests?team=%zz", "The query has a percent sign without two hexadecimal digits after it."),
    ])
    func `What is wrong with percent signs is said`(_ path: String, _ detail: String) async throws {
        try await TestService.run { test in
            let socket = try addresses(test)[1]
            let text = try await RawHTTP.exchange(
                "GET \(path) HTTP/1.1\r\nhost:\r\nconnection: close\r\n\r\n", at: socket)
            #expect(text.hasPrefix("HTTP/1.1 400 ") && text.contains(detail), "\(text)")
        }
    }

    @Test func `A client with HTTP 1.0 is told what to send`() async throws {
        try await TestService.run { test in
            let address = try addresses(test)[0]
            let text = try await RawHTTP.exchange("GET /health HTTP/1.0\r\n\r\n", at: address)
            #expect(text.hasPrefix("HTTP/1.0 403 "))
            #expect(text.contains("The request names no host; send the header field Host."))
        }
    }

    @Test func `The connection ends after the answer to its last request`() async throws {
        try await TestService.run { test in
            for address in try addresses(test) {
                for request in RawHTTP.last("/health") {
                    #expect(try await RawHTTP.statuses(request, at: address) == [200], "\(request) at \(address)")
                }
            }
        }
    }

    @Test func `A body that breaks off gets one answer`() async throws {
        try await TestService.run { test in
            for address in try addresses(test) {
                for path in ["/v1/teams", "/health", "/v1/rehearsals"] {
                    #expect(try await RawHTTP.statuses(RawHTTP.brokenChunk(path), at: address).count == 1)
                }
            }
        }
    }
}

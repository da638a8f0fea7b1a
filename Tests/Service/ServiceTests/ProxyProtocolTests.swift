import Connections
import Foundation
import NIOCore
import ProviderAPI
import Rates
import Testing

@testable import Service
@testable import ServiceTesting

/// Connections through a load balancer that tells the service the client's address.
@Suite(.timeLimit(.minutes(2)))
struct ProxyProtocolTests {
    private func line(_ client: String) -> [UInt8] { Array("PROXY TCP4 \(client) 192.0.2.1 40000 2197\r\n".utf8) }

    private func run(
        _ change: @escaping (inout Settings) -> Void = { _ in },
        _ body: (TestService) async throws -> Void,
    ) async throws {
        try await TestService.run(
            {
                change(&$0)
                try? $0.setProxies(["127.0.0.0/8"])
            }, body)
    }

    private func connect(
        _ test: TestService, _ opening: [UInt8], certificate: ClientCertificate? = nil
    ) async throws
        -> WireClient
    {
        let port = try test.port(certificate == nil ? \.provider : \.courier)
        return try await WireClient.connect(
            port: port, authorityFile: test.description.ca, certificate: certificate, opening: opening)
    }

    /// Whether the service answers a connection that begins with these bytes.
    private func isServed(_ test: TestService, _ opening: [UInt8]) async throws -> Bool {
        let client = try await connect(test, opening)
        let headers = ProviderHeaders(String(repeating: "0", count: 64), token: try test.providerToken())
        let isServed = await client.isServed(headers.fields)
        await client.close()
        return isServed
    }

    private func push(_ test: TestService, _ client: WireClient) async throws -> Int {
        let headers = ProviderHeaders(String(repeating: "0", count: 64), token: try test.providerToken())
        return try await client.send(headers.fields).status
    }

    @Test func `A connection may begin with a header of either version`() async throws {
        let binary: [UInt8] =
            [0x0d, 0x0a, 0x0d, 0x0a, 0, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a, 0x21, 0x11, 0, 12]
            + [198, 51, 100, 7, 192, 0, 2, 1, 0x9c, 0x40, 8, 0x95]
        try await run { test in
            for opening in [line("198.51.100.7"), binary] {
                let client = try await connect(test, opening)
                #expect(try await push(test, client) == 400)
                await client.close()
            }
        }
    }

    @Test func `Without a header a load balancer is refused, and headers of other clients are not read`() async throws {
        try await run { test async throws in
            let undeclared = try await isServed(test, [])
            #expect(!undeclared)
        }
        try await TestService.run({ try? $0.setProxies(["192.0.2.0/24"]) }) { test async throws in
            let direct = try await isServed(test, [])
            let claimed = try await isServed(test, line("198.51.100.7"))
            #expect(direct && !claimed)
        }
    }

    @Test func `Each client behind the load balancer has its own limits`() async throws {
        try await run {
            $0.provider.perAddress.open = 1
        } _: { test in
            let first = try await connect(test, line("198.51.100.1"))
            #expect(try await push(test, first) == 400)
            let another = try await isServed(test, line("198.51.100.1"))
            #expect(!another)
            let second = try await connect(test, line("198.51.100.2"))
            #expect(try await push(test, second) == 400)
            await first.close()
            await second.close()
        }
    }

    private func activate(_ test: TestService, _ opening: [UInt8]) async throws -> Int {
        let client = try await WireClient.connect(
            port: try test.port(\.courier), authorityFile: test.description.ca, opening: opening)
        let headers = [
            (":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", "/1/activations"),
        ]
        let status = try await client.send(headers, body: "no request").status
        await client.close()
        return status
    }

    @Test func `A client of a load balancer on this machine does not count as local`() async throws {
        try await run { test async throws in
            for opening in [line("198.51.100.1"), line("127.0.0.1"), Array("PROXY UNKNOWN\r\n".utf8)] {
                let status = try await activate(test, opening)
                // The client does not count as local, so it needs an activation code.
                #expect(status == 403)
            }
        }
    }
}

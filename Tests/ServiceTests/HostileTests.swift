import Foundation
import HTTP2
import NIOCore
import ProviderGateway
import Service
import Testing

/// One connection that misbehaves does not keep others from being served.
@Suite(.timeLimit(.minutes(2)))
struct HostileTests {
    @Test func `Rapid reset ends the connection that does it, and no other`() async throws {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let headers = ProviderHeaders(token, token: try test.providerToken()).fields
            let (attacker, other) = (try await test.connectProvider(), try await test.connectProvider())
            #expect(try await attacker.send(headers).status == 200)
            try await attacker.announced(1000)
            async let ending = attacker.goAways()
            try await attacker.openAndReset(headers, times: 5000)
            #expect(try await other.send(headers).status == 200)
            _ = try await ending
            #expect(try await other.send(headers).status == 200)
            await other.close()
        }
    }

    @Test func `A client that never takes its answers is given up`() async throws {
        try await TestService.run {
            $0.provider.requestTimeout = .milliseconds(100)
            $0.provider.idleTimeout = .milliseconds(200)
        } _: { test in
            let client = try await WireClient.connect(
                port: test.port(\.provider), authorityFile: test.description.ca, windowBytes: 0)
            async let answers = (0..<20).asyncMap { _ in
                try await client.send(ProviderHeaders("00", token: nil).fields)
            }
            let goAways = try await client.goAways()
            #expect(goAways == [#"{"reason":"IdleTimeout"}"#])
            let bodies = try await answers.map(\.body)
            #expect(bodies.allSatisfy { $0.isEmpty })
        }
    }

    @Test func `A body over the limit is answered before it has ended`() async throws {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let headers = ProviderHeaders(token, token: try test.providerToken()).fields
            let client = try await test.connectProvider()
            let answer = try await client.send(headers, body: String(repeating: "x", count: 100_000))
            #expect(answer.status == 413 && answer.reason == "PayloadTooLarge")
            #expect(try await client.send(headers).status == 200)
            await client.close()
        }
    }
}

import Connections
import Foundation
import Delivery
import HTTP2
import NIOCore
import ProviderAPI
import Rates
import Service
import Synchronization
import Testing

@testable import ServiceTesting

/// Each limit of the provider API at a low value.
@Suite(.timeLimit(.minutes(2)))
struct LimitsTests {
    @Test func `Beyond the rate of a device token the answer is TooManyRequests`() async throws {
        try await TestService.run {
            $0.delivery.requestsPerDeviceToken = Rate(burst: 3, perSecond: 0.001)
        } _: { test in
            let (one, other) = (try await test.makeDeviceToken(), try await test.makeDeviceToken())
            let client = try await test.connectProvider()
            let jwt = try test.providerToken()
            for _ in 0..<3 { #expect(try await client.send(ProviderHeaders(one, token: jwt).fields).status == 200) }
            let refused = try await client.send(ProviderHeaders(one, token: jwt).fields)
            #expect(refused.status == 429 && refused.reason == "TooManyRequests")
            #expect(try await client.send(ProviderHeaders(other, token: jwt).fields).status == 200)
            await client.close()
        }
    }

    @Test func `After too many changes of the provider token, TooManyProviderTokenUpdates; the old one stays valid`()
        async throws
    {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider()
            let tokens = try (0..<3).map {
                try test.providerToken(issuedAt: Date(timeIntervalSinceNow: -60 * Double($0)))
            }
            #expect(try await client.send(ProviderHeaders(token, token: tokens[0]).fields).status == 200)
            #expect(try await client.send(ProviderHeaders(token, token: tokens[1]).fields).status == 200)
            let refused = try await client.send(ProviderHeaders(token, token: tokens[2]).fields)
            #expect(refused.status == 429 && refused.reason == "TooManyProviderTokenUpdates")
            #expect(try await client.send(ProviderHeaders(token, token: tokens[1]).fields).status == 200)
            await client.close()
        }
    }

    @Test func `Of the connections without trust the oldest is closed, and one that has shown trust stays`()
        async throws
    {
        try await TestService.run {
            $0.listener.untrustedConnections = 3
            $0.listener.untrustedGrace = .zero
        } _: { test in
            let token = try await test.makeDeviceToken()
            let (silent, trusted) = (try await test.connectProvider(), try await test.connectProvider())
            let headers = ProviderHeaders(token, token: try test.providerToken()).fields
            #expect(try await trusted.send(headers).status == 200)
            // The last of these connections makes the service close the first one.
            var others: [WireClient] = []
            for _ in 0..<4 { others.append(try await test.connectProvider()) }
            _ = try await silent.goAways()
            _ = try await others[0].goAways()
            #expect(try await trusted.send(headers).status == 200)
            #expect(try await others[3].send(headers).status == 200)
            for client in others + [trusted] { await client.close() }
        }
    }

    @Test func `A provider token is the same, however its scheme and spaces are written`() async throws {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(token, token: nil)
            let jwt = try test.providerToken()
            var statuses: [Int] = []
            for scheme in ["bearer ", "Bearer ", "BEARER ", "bearer  "] {
                statuses.append(try await client.send(headers.adding("authorization", scheme + jwt).fields).status)
            }
            #expect(statuses == [200, 200, 200, 200])
            await client.close()
        }
    }

    @Test func `Too many invalid provider tokens end the connection`() async throws {
        try await TestService.run {
            $0.provider.failedTokens = Rate(burst: 2, perSecond: 0.001)
        } _: { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider()
            for attempt in 0..<3 {
                let answer = try await client.send(ProviderHeaders(token, token: "bad.\(attempt).token").fields)
                #expect(answer.reason == "InvalidProviderToken")
            }
            #expect(try await client.goAways() == [#"{"reason":"InvalidProviderToken"}"#])
        }
    }

    @Test func `If an address connects too often, connections are closed before the handshake`() async throws {
        try await TestService.run {
            $0.provider.perAddress.connects = Rate(burst: 2, perSecond: 0.001)
        } _: { test in
            let token = try await test.makeDeviceToken()
            let headers = ProviderHeaders(token, token: try test.providerToken()).fields
            let clients = [try await test.connectProvider(), try await test.connectProvider()]
            for client in clients { #expect(try await client.send(headers).status == 200) }
            let third = try await test.connectProvider()
            try await Self.expectClosed(third, headers)
            for client in clients { await client.close() }
        }
    }

    @Test func `If an address has too many open connections, new ones are closed before the handshake`() async throws {
        try await TestService.run {
            $0.provider.perAddress.open = 1
        } _: { test in
            let token = try await test.makeDeviceToken()
            let headers = ProviderHeaders(token, token: try test.providerToken()).fields
            let first = try await test.connectProvider()
            #expect(try await first.send(headers).status == 200)
            let second = try await test.connectProvider()
            try await Self.expectClosed(second, headers)
            await first.close()
        }
    }

    @Test func `A connection without requests for too long gets IdleTimeout`() async throws {
        try await TestService.run {
            $0.provider.idleTimeout = .milliseconds(100)
        } _: { test in
            let client = try await test.connectProvider()
            #expect(try await client.goAways() == [#"{"reason":"IdleTimeout"}"#])
        }
    }

    @Test func `A connection that sends PING is kept, and one that is silent ends`() async throws {
        try await TestService.run {
            // Longer than a slow machine needs between two PINGs.
            $0.provider.idleTimeout = .seconds(5)
        } _: { test in
            let token = try await test.makeDeviceToken()
            let headers = ProviderHeaders(token, token: try test.providerToken()).fields
            let (kept, other) = (try await HandmadeClient(test), try await test.connectProvider())
            try await Self.sendPing(on: kept, until: test.connectProvider()) { _ = try await other.send(headers) }
            #expect(try await kept.send(headers))
            await kept.close()
            await other.close()
        }
    }

    @Test func `A connection for channels that sends PING is kept, and one that is silent ends`() async throws {
        try await TestService.run {
            $0.provider.idleTimeout = .seconds(5)
        } _: { test in
            let headers = ChannelHeaders("GET", "all-channels", token: try test.providerToken()).fields
            let kept = try await HandmadeClient(test, at: \.channels)
            let other = try await test.connectChannels()
            try await Self.sendPing(on: kept, until: test.connectChannels()) {
                _ = try await other.send(headers, body: "")
            }
            #expect(try await kept.send(headers, body: ""))
            await kept.close()
            await other.close()
        }
    }

    /// Sends PING on one connection until another one, which sends nothing, ends because it was idle.
    /// - Parameter request: makes a request on a third connection. This is the pause between two PINGs, without which
    ///   they would be a flood.
    private static func sendPing(
        on kept: HandmadeClient, until silent: WireClient, request: () async throws -> Void,
    ) async throws {
        let isOver = Atomic(false)
        async let end = {
            defer { isOver.store(true, ordering: .relaxed) }
            return try await silent.goAways()
        }()
        while !isOver.load(ordering: .relaxed) {
            try await kept.ping()
            for _ in 0..<20 { try await request() }
        }
        #expect(try await end == [#"{"reason":"IdleTimeout"}"#])
    }

    /// The service ends such a connection without an answer and without GOAWAY.
    private static func expectClosed(_ client: WireClient, _ headers: [(String, String)]) async throws {
        #expect(await !client.isServed(headers))
        #expect(try await client.goAways() == [])
    }
}

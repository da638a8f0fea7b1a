import CommonTesting
import Foundation
import HTTP2
import NIOCore
import ProviderAPI
import Service
import Testing

@testable import ServiceTesting

/// A connection that misbehaves does not affect the service for others.
@Suite(.timeLimit(.minutes(2)))
struct HostileTests {
    @Test func `Rapid reset ends the connection that does it, and no other connection`() async throws {
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

    @Test func `If a client does not read an answer, the answer is dropped, and later the idle connection is closed`()
        async throws
    {
        try await TestService.run {
            // Connections are checked once a second, so this has to be longer.
            $0.provider.requestTimeout = .milliseconds(1200)
            $0.provider.idleTimeout = .milliseconds(200)
        } _: { test in
            let client = try await WireClient.connect(
                port: test.port(\.provider), authorityFile: test.description.ca, windowBytes: 0)
            let answer = try await client.send(ProviderHeaders("00", token: nil).fields)
            #expect(answer.status == 403 && answer.body.isEmpty && answer.error == .noError)
            let goAways = try await client.goAways()
            #expect(goAways == [#"{"reason":"IdleTimeout"}"#])
        }
    }

    /// Nobody is told of a request before all of its headers have come, so only the connection can end.
    @Test func `A connection with half of a request's headers is closed after the time of a request`() async throws {
        try await TestService.run {
            $0.provider.requestTimeout = .milliseconds(1200)
        } _: { test in
            for address in [\ServiceDescription.Addresses.provider, \.channels] {
                let client = try await HandmadeClient(test, at: address)
                try await client.beginHalf([(":method", "POST")])
                await client.ended()
            }
        }
    }

    @Test func `What connections hold before they have shown whom they belong to is limited for all together`()
        async throws
    {
        try await TestService.run {
            $0.provider.untrustedRequests = 2
        } _: { test in
            let token = try await test.makeDeviceToken()
            // More than a KiB with what a request takes without headers, so it counts as two.
            let unknown = ProviderHeaders(token, token: nil).with("via", String(repeating: "v", count: 600)).fields
            let known = ProviderHeaders(token, token: try test.providerToken()).fields
            /// The answer to an unknown sender's request on a connection of its own.
            func ask() async throws -> WireClient.Answer {
                let client = try await test.connectProvider()
                let answer = try await client.send(unknown)
                await client.close()
                return answer
            }
            let (trusted, one) = (try await test.connectProvider(), try await test.connectProvider())
            #expect(try await trusted.send(known).status == 200)
            let open = try await one.open(unknown, endStream: false)
            // Until the service has read these headers, others are served.
            try await wait(while: try await ask().error != .refusedStream)
            #expect(try await trusted.send(known).status == 200)
            #expect(try await open.finish().status == 403)
            // The first connection's request has ended, so there is room again.
            let answer = try await firstValue {
                let answer = try await ask()
                return answer.error == .refusedStream ? nil : answer
            }
            #expect(answer.status == 403)
            for client in [trusted, one] { await client.close() }
        }
    }

    /// Each is kept until the request is answered.
    @Test(arguments: [
        Large(header: ("via", "1.1 " + String(repeating: "v", count: 4096))),
        Large(header: ("apns-topic", String(repeating: "t", count: 4096))),
        Large(header: (":path", "/1/handles/" + String(repeating: "h", count: 4096))),
        Large(body: 4096), Large(header: (":path", "/1/handles"), body: 4096),
    ])
    func `Headers and bodies count by their size for the same limit`(large: Large) async throws {
        try await TestService.run {
            $0.provider.untrustedRequests = 4
        } _: { test in
            let client = try await test.connectProvider()
            let small = ProviderHeaders("00", token: nil)
            #expect(try await client.send(small.fields).status == 403)
            let headers = large.header.map { small.with($0.0, $0.1) } ?? small
            // The rest of the body is never sent, so only the limit ends the request.
            let open = try await client.open(headers.fields, endStream: false)
            if large.body > 0 { try await open.write(String(repeating: "b", count: large.body)) }
            #expect(try await open.answer().error == .refusedStream)
            #expect(try await client.send(small.fields).status == 403)
            await client.close()
        }
    }

    struct Large: Sendable {
        var header: (String, String)?
        var body = 0
    }

    @Test func `Requests about channels count for the same limit, and the metrics name it`() async throws {
        try await TestService.run {
            $0.provider.untrustedRequests = 8
        } _: { test in
            let channels = try await test.connectChannels()
            let list = ChannelHeaders("GET", "all-channels", token: nil).fields
            #expect(try await channels.send(list, body: "").error == .refusedStream)
            try await test.metricsSay("untrusted-requests")
            // With less weight, a request to the provider API has room.
            let provider = try await test.connectProvider()
            #expect(try await provider.send(ProviderHeaders("00", token: nil).fields).status == 403)
            for client in [channels, provider] { await client.close() }
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

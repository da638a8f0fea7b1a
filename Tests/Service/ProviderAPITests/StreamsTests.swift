import Foundation
import ProviderAPI
import Service
import Testing

@testable import ServiceTesting

/// How many streams a connection may have (Guide, 2.3.3).
@Suite(.timeLimit(.minutes(2)))
struct StreamsTests {
    @Test func `One stream is announced until the first valid provider token, then the configured number`() async throws
    {
        try await TestService.run {
            $0.provider.concurrentStreams = 77
        } _: { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider()
            try await client.announced(1)
            let jwt = try test.providerToken()
            let answer = try await client.send(ProviderHeaders(token, token: jwt).fields)
            #expect(answer.status == 200)
            try await client.announced(77)
            await client.close()
        }
    }

    @Test func `After a rejected token one stream is allowed, until a token is accepted`() async throws {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider()
            let good = ProviderHeaders(token, token: try test.providerToken()).fields
            let bad = ProviderHeaders(token, token: "not.a.token").fields
            #expect(try await client.send(good).status == 200)
            try await client.announced(1000)
            #expect(try await client.send(bad).reason == "InvalidProviderToken")
            try await client.announced(1)
            #expect(try await client.send(good).status == 200)
            try await client.announced(1000)
            #expect(try await client.announcements() == [1, 1000, 1, 1000])
            await client.close()
        }
    }

    @Test func `All requests of a burst before the first SETTINGS are answered`() async throws {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let headers = ProviderHeaders(token, token: try test.providerToken()).fields
            let client = try await WireClient.connect(
                port: test.port(\.provider), authorityFile: test.description.ca,
                burst: Array(repeating: headers, count: 50))
            let statuses = try await client.burst().map(\.status)
            #expect(statuses == Array(repeating: 200, count: 50))
            await client.close()
        }
    }
}

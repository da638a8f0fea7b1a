import Foundation
import ProviderGateway
import Service
import Testing

/// How many streams a connection may have (Guide, 2.3.3).
@Suite(.timeLimit(.minutes(2)))
struct StreamsTests {
    @Test func `One stream is announced until the first valid provider token, then the configured number`() async throws {
        try await TestService.run { $0.provider.concurrentStreams = 77 } _: { test in
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

    @Test func `After a rejected token there is one stream again, until one succeeds`() async throws {
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

    @Test func `A burst that is opened before the settings were read is served whole`() async throws {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(token, token: try test.providerToken()).fields
            // All of them go out in the first write, before anything of the service has come.
            let statuses = try await withThrowingTaskGroup { group in
                for _ in 0..<50 { group.addTask { try await client.send(headers).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses == Array(repeating: 200, count: 50))
            await client.close()
        }
    }
}

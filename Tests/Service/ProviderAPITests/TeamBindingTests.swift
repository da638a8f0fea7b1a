import Foundation
import Service
import Testing

@testable import ServiceTesting

/// A connection serves one team: the team of the first valid provider token that was checked, even if its request
/// failed later.
@Suite(.timeLimit(.minutes(2)))
struct TeamBindingTests {
    /// A provider token of a team without apps, which can only be refused.
    private func otherTeamsToken(_ test: TestService) async throws -> String {
        try await test.limitedToken(of: test.createTeam())
    }

    @Test(arguments: [(":method", "PUT"), (":path", "/4"), (":path", "/3/device/")])
    func `A request that fails the shape checks neither binds the connection to a team nor allows more streams`(
        name: String, value: String,
    ) async throws {
        try await TestService.run { test in
            let client = try await test.connectProvider()
            let first = ProviderHeaders("00", token: try test.providerToken()).with(name, value)
            #expect(try await client.send(first.fields).status >= 400)
            #expect(try await client.announcements() == [1])
            let other = ProviderHeaders("00", token: try await otherTeamsToken(test))
            #expect(try await client.send(other.fields).reason == "TopicDisallowed")
            await client.close()
        }
    }

    @Test func `A header that occurs twice does not bind the connection to a team`() async throws {
        try await TestService.run { test in
            let client = try await test.connectProvider()
            let first = ProviderHeaders("00", token: try test.providerToken()).adding("apns-topic", "com.example.app")
            #expect(try await client.send(first.fields).reason == "DuplicateHeaders")
            let other = ProviderHeaders("00", token: try await otherTeamsToken(test))
            #expect(try await client.send(other.fields).reason == "TopicDisallowed")
            await client.close()
        }
    }

    @Test(arguments: [("apns-priority", "7"), ("apns-topic", "com.example.nobody"), (":path", "/3/device/00")])
    func `A request that is rejected after the check of its provider token binds the connection to a team`(
        name: String, value: String,
    ) async throws {
        try await TestService.run { test in
            let client = try await test.connectProvider()
            let first = ProviderHeaders("00", token: try test.providerToken()).with(name, value)
            #expect(try await client.send(first.fields).status == 400)
            try await client.announced(1000)
            let other = ProviderHeaders("00", token: try await otherTeamsToken(test))
            let answer = try await client.send(other.fields)
            #expect(answer.status == 403 && answer.reason == "InvalidProviderToken")
            await client.close()
        }
    }
}

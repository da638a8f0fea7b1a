import Foundation
import Notifications
import Service
import Testing

/// Limits of the provider API, each at a low value: what the provider gets when it exceeds one.
@Suite(.timeLimit(.minutes(2))) struct LimitTests {
    private let bundleID = "com.example.app"

    /// Has a service running with the limits, a connection to it, and a good request.
    private func with(
        _ limits: [String: String],
        _ body: (CarillonProcess, WireClient, Push) async throws -> Void,
    ) async throws {
        try await CarillonProcess.with(environment: limits) { service in
            let token = try await service.register(bundleID, on: try await service.activate())
            let push = try Push(token: token, topic: bundleID, from: service.developmentProvider)
            let connection = try await service.connect()
            try await body(service, connection, push)
            await connection.close()
        }
    }

    private func reason(_ answer: WireClient.Answer) throws -> String? { try JSONValue(answer.body)["reason"]?.text }

    @Test func tooManyRequestsToOneDeviceToken() async throws {
        // One request, and then one in eleven days.
        let limits = ["CARILLON_LIMIT_TOKEN_BURST": "1", "CARILLON_LIMIT_TOKEN_RATE": "0.000001"]
        try await with(limits) { service, connection, push in
            #expect(try await connection.send(push).status == 200)
            let answer = try await connection.send(push)
            #expect(answer.status == 429)
            #expect(try reason(answer) == "TooManyRequests")
            // Another device token is not affected.
            var other = push
            other.path = "/3/device/" + (try await service.register(bundleID, on: try await service.activate()))
            #expect(try await connection.send(other).status == 200)
        }
    }

    @Test func tooManyProviderTokensOnOneConnection() async throws {
        try await with([:]) { service, connection, push in
            let provider = try service.developmentProvider
            #expect(try await connection.send(push).status == 200)
            var push = push
            push["authorization"] = "bearer " + (try provider.token(issuedSecondsAgo: 60))
            #expect(try await connection.send(push).status == 200)
            push["authorization"] = "bearer " + (try provider.token(issuedSecondsAgo: 120))
            let answer = try await connection.send(push)
            #expect(answer.status == 429)
            #expect(try reason(answer) == "TooManyProviderTokenUpdates")
        }
    }

    @Test func tooManyFailedProviderTokens() async throws {
        let limits = ["CARILLON_LIMIT_FAILED_TOKEN_BURST": "2", "CARILLON_LIMIT_FAILED_TOKEN_RATE": "0.000001"]
        try await with(limits) { service, connection, push in
            var push = push
            for number in 1...3 {
                push["authorization"] = "bearer nonsense\(number)"
                let answer = try await connection.send(push)
                #expect(answer.status == 403)
            }
            await connection.closed()
            #expect(try await connection.goAways().map(\.debugData) == [#"{"reason":"InvalidProviderToken"}"#])
        }
    }

    @Test func aConnectionThatIsIdleForTooLong() async throws {
        try await with(["CARILLON_LIMIT_IDLE_TIMEOUT": "1"]) { _, connection, _ in
            await connection.closed()
            let goAways = try await connection.goAways().map(\.debugData)
            #expect(goAways == [#"{"reason":"IdleTimeout"}"#])
        }
    }

    @Test func aRequestThatDoesNotEnd() async throws {
        try await with(["CARILLON_LIMIT_REQUEST_TIMEOUT": "1"]) { service, connection, push in
            let answer = try await connection.send(push, ends: false)
            #expect(answer.status == 400)
            #expect(try reason(answer) == "IdleTimeout")
            #expect(try #require(answer["apns-id"]).isCanonicalUUID)
        }
    }
}

import Delivery
import Foundation
import NIOCore
import Notifications
import ProviderAPI
import Rates
import Service
import Testing

@testable import ServiceTesting

/// The reasons for rejecting requests about channels that need a state of the service, of the connection or of the
/// accounts, and the check that every reason has a test.
@Suite(.timeLimit(.minutes(5)))
struct ChannelRejectionTests {
    typealias Endpoint = ChannelTrustTests.Endpoint

    static let situations: [Rejection.Reason] = [
        .badEnvironmentKeyInToken, .featureNotEnabled, .internalServerError, .shutdown, .unrelatedKeyIDInToken,
    ]

    @Test(arguments: situations, Endpoint.allCases)
    func `A situation gives the documented status and reason`(
        reason: Rejection.Reason, endpoint: Endpoint,
    ) async throws {
        let answer = try await provoke(reason, at: endpoint)
        #expect((answer.status, answer.reason) == (reason.status, reason.rawValue))
        #expect(Set(answer.headers.keys) == [":status", "apns-request-id", "content-type"])
    }

    private func provoke(_ reason: Rejection.Reason, at endpoint: Endpoint) async throws -> WireClient.Answer {
        var answer = WireClient.Answer()
        if reason == .internalServerError {
            try await RejectionSituation.withDamagedStore(table: "channel") {
                try await $0.makeChannel()
            } _: { test, channel in
                let client = try await endpoint.connect(test)
                let headers = endpoint.headers(channel, token: try test.providerToken())
                answer = try await client.send(headers.fields, body: headers.body)
                #expect(try await client.goAways() == [#"{"reason":"InternalServerError"}"#])
            }
            return answer
        }
        try await TestService.run {
            switch reason {
            case .badEnvironmentKeyInToken: $0.environmentKeyReason = .seen
            case .featureNotEnabled: $0.channels.channelsPerApp = 0
            case .shutdown: $0.shutdownTimeout = .milliseconds(300)
            default: break
            }
        } _: { test in
            let channel = reason == .featureNotEnabled ? ChannelHeaders.unknown : try await test.makeChannel()
            let client = try await endpoint.connect(test)
            func send(_ token: String) async throws -> WireClient.Answer {
                let headers = endpoint.headers(channel, token: token)
                return try await client.send(headers.fields, body: headers.body)
            }
            let token = try test.providerToken()
            switch reason {
            case .badEnvironmentKeyInToken: answer = try await send(test.limitedToken(environment: .production))
            case .unrelatedKeyIDInToken:
                #expect(try await send(token).status == endpoint.success)
                answer = try await send(test.limitedToken(bundleIDs: [test.bundleID]))
            case .shutdown:
                #expect(try await send(token).status == endpoint.success)
                let began = try await client.begin(endpoint.headers(channel, token: token).fields)
                test.stop()
                answer = try await began.answer()
            default: answer = try await send(token)
            }
            await client.close()
        }
        return answer
    }

    /// The reasons that neither kind of request gets: they are about device tokens, topics and collapse identifiers,
    /// which these requests do not have, or are given as `TopicMismatch` (docs/channels.md).
    private static let ofOtherRequests: Set<Rejection.Reason> = [
        .badCollapseID, .badDeviceToken, .badTopic, .deviceTokenNotForTopic, .expiredToken, .forbidden,
        .missingDeviceToken, .missingTopic, .unregistered,
    ]

    /// The reasons that ChannelTrustTests provokes.
    private static let aboutSenders: Set<Rejection.Reason> = [
        .badCertificate, .badCertificateEnvironment, .badEnvironmentKeyIDInToken, .expiredProviderToken, .idleTimeout,
        .serviceUnavailable, .tooManyProviderTokenUpdates,
    ]

    @Test(arguments: Endpoint.allCases)
    func `Every reason of the table has a test over the wire, or is documented as never given`(endpoint: Endpoint) {
        var given = Self.aboutSenders.union(Self.situations)
        let others: Set<Rejection.Reason>
        switch endpoint {
        case .management:
            given.formUnion(ChannelManagementTests.rejections.map(\.reason) + [.cannotCreateChannelConfig])
            others = [.badExpirationDate, .badPriority, .tooManyRequests]
        case .broadcasts:
            given.formUnion(BroadcastRejectionTests.rejections.map(\.reason) + [.tooManyRequests])
            others = [.cannotCreateChannelConfig, .badRequestPayload, .badRequestParams]
        }
        let never = Self.ofOtherRequests.union(others)
        #expect(given.isDisjoint(with: never))
        #expect(given.union(never) == Set(Rejection.Reason.allCases))
    }

    @Test(arguments: Endpoint.allCases)
    func `An answer to HEAD has no body, which clients would take for a protocol error`(
        endpoint: Endpoint
    ) async throws {
        try await TestService.run { test in
            let channel = try await test.makeChannel()
            let client = try await endpoint.connect(test)
            let good = endpoint.headers(channel, token: try test.providerToken())
            var head = good
            head.set(":method", "HEAD")
            let answer = try await client.send(head.fields, body: "")
            #expect(answer.status == 405)
            #expect(answer.body.isEmpty)
            #expect(try await client.send(good.fields, body: good.body).status == endpoint.success)
            await client.close()
        }
    }

    // MARK: Senders

    @Test(arguments: Endpoint.allCases)
    func `A valid token that the connection does not accept is not counted as a failed one`(
        endpoint: Endpoint
    ) async throws {
        try await TestService.run {
            $0.provider.failedTokens = Rate(burst: 1, perSecond: 0.001)
        } _: { test in
            let channel = try await test.makeChannel()
            let client = try await endpoint.connect(test)
            let good = endpoint.headers(channel, token: try test.providerToken())
            #expect(try await client.send(good.fields, body: good.body).status == endpoint.success)
            let unrelated = endpoint.headers(
                channel, token: try await test.limitedToken(bundleIDs: [test.bundleID]))
            for _ in 0..<3 {
                #expect(try await client.send(unrelated.fields, body: unrelated.body).status == 403)
            }
            #expect(try await client.send(good.fields, body: good.body).status == endpoint.success)
            await client.close()
        }
    }

    @Test(arguments: Endpoint.allCases)
    func `A request that fails the shape checks does not bind the connection to its team`(
        endpoint: Endpoint
    ) async throws {
        try await TestService.run { test in
            let channel = try await test.makeChannel()
            let team = try await test.createTeam()
            let client = try await endpoint.connect(test)
            var wrong = endpoint.headers(channel, token: try await test.limitedToken(of: team))
            wrong.set(":method", "PUT")
            #expect(try await client.send(wrong.fields, body: wrong.body).reason == "MethodNotAllowed")
            let good = endpoint.headers(channel, token: try test.providerToken())
            #expect(try await client.send(good.fields, body: good.body).status == endpoint.success)
            await client.close()
        }
    }

    @Test(arguments: Endpoint.allCases)
    func `A key that is revoked while a request is under way no longer signs it`(endpoint: Endpoint) async throws {
        try await TestService.run { test in
            let channel = try await test.makeChannel()
            let provider = try await test.createKey(of: required(test.description.key).teamID)
            let client = try await endpoint.connect(test)
            let headers = endpoint.headers(channel, token: try provider.token())
            #expect(try await client.send(headers.fields, body: headers.body).status == endpoint.success)
            let began = try await client.begin(headers.fields, body: headers.body)
            #expect(try await test.manage("DELETE", "/v1/keys/\(provider.keyID)").status == 200)
            let answer = try await began.finish()
            #expect((answer.status, answer.reason) == (403, "InvalidProviderToken"))
            await client.close()
        }
    }

    @Test(arguments: Endpoint.allCases)
    func `Another team's app, and another app's channel, are out of reach`(endpoint: Endpoint) async throws {
        try await TestService.run { test in
            let team = try await test.createTeam()
            try await test.createApp("com.example.foreign", of: team)
            try await test.createApp("com.example.second")
            let channel = try await test.makeChannel()
            let foreign = try await test.limitedToken(of: team)
            let own = try test.providerToken()
            func send(_ bundleID: String, _ token: String) async throws -> String? {
                var headers = endpoint.headers(channel, token: token)
                if endpoint == .management { headers = ChannelHeaders("DELETE", token: token, channel: channel) }
                let path = endpoint == .management ? "/1/apps/\(bundleID)/channels" : "/4/broadcasts/apps/\(bundleID)"
                headers.set(":path", path)
                let client = try await endpoint.connect(test)
                let answer = try await client.send(headers.fields, body: headers.body)
                await client.close()
                return answer.reason
            }
            #expect(try await send("com.example.app", foreign) == "TopicMismatch")
            #expect(try await send("com.example.foreign", own) == "TopicMismatch")
            #expect(try await send("com.example.foreign", foreign) == "ChannelNotRegistered")
            #expect(try await send("com.example.second", own) == "ChannelNotRegistered")
            #expect(try await send("com.example.app", own) == nil)
        }
    }
}

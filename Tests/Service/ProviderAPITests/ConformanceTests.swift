import Foundation
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// The requests that `--conformance apple` and `strict` answer differently.
@Suite(.timeLimit(.minutes(2)))
struct ConformanceTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// Changes to a request with the push type `alert`.
        var headers: [(String, String?)] = []
        var body = #"{"aps":{"alert":"Hello"}}"#
        var scheme = "bearer"
        /// The token's `iat`, made from the time in seconds; nil for a valid one.
        var issuedAt: (@Sendable (UInt64) -> String)?
        var apple: String?
        var strict: String?
    }

    /// The expected reasons; nil means 200.
    static let rows = [
        Row(testDescription: "a body without aps", body: "{}", apple: nil, strict: "PayloadEmpty"),
        Row(
            testDescription: "a silent notification without a priority",
            headers: [("apns-push-type", "background")], body: #"{"aps":{"content-available":1}}"#, apple: nil,
            strict: "BadPriority"),
        Row(
            testDescription: "a silent notification with priority 10",
            headers: [("apns-push-type", "background"), ("apns-priority", "10")],
            body: #"{"aps":{"content-available":1}}"#,
            apple: "BadPriority", strict: "BadPriority"),
        Row(
            testDescription: "an identifier in capital letters",
            headers: [("apns-id", "8B1E5B4A-9C0C-4D5E-8F00-0123456789AB")], apple: nil, strict: "BadMessageId"),
        Row(
            testDescription: "a missing push type", headers: [("apns-push-type", nil)], apple: nil,
            strict: "InvalidPushType"),
        Row(
            testDescription: "Bearer instead of bearer", scheme: "Bearer", apple: nil, strict: "InvalidProviderToken"),
        Row(
            testDescription: "an unknown key in aps", body: #"{"aps":{"alert":"Hello","Badge":1}}"#, apple: nil,
            strict: "PayloadEmpty"),
        Row(
            testDescription: "iat as a string of digits", issuedAt: { "\"\($0)\"" }, apple: nil,
            strict: "InvalidProviderToken"),
        Row(
            testDescription: "iat in milliseconds", issuedAt: { "\($0)000" }, apple: nil,
            strict: "InvalidProviderToken"),
        Row(testDescription: "iat with a fraction", issuedAt: { "\($0).5" }, apple: nil, strict: nil),
    ]

    @Test(arguments: rows) func `Conformance apple`(_ row: Row) async throws {
        try await check(row, .apple, row.apple)
    }

    @Test(arguments: rows) func `Conformance strict`(_ row: Row) async throws {
        try await check(row, .strict, row.strict)
    }

    /// The topic of a management server's certificate.
    @Test(arguments: Conformance.allCases)
    func `Strict refuses push types for the bundle ID with a topic of device management`(
        _ conformance: Conformance
    ) async throws {
        try await TestService.run {
            $0.conformance = conformance
        } _: { test in
            let topic = "com.apple.mgmt.External.8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"
            try await test.createApp(topic)
            let headers = ProviderHeaders(
                try await test.makeDeviceToken(), topic: topic, token: try test.providerToken())
            let client = try await test.connectProvider()
            for type in ["alert", "background"] {
                let answer = try await client.send(headers.with("apns-push-type", type).fields)
                // The device token is another app's, so `apple` refuses the request later.
                #expect(answer.reason == (conformance == .strict ? "TopicDisallowed" : "DeviceTokenNotForTopic"))
            }
            await client.close()
        }
    }

    private func check(_ row: Row, _ conformance: Conformance, _ reason: String?) async throws {
        try await TestService.run {
            $0.conformance = conformance
        } _: { test in
            let now = UInt64(Date().timeIntervalSince1970)
            let token = try row.issuedAt.map { try test.providerToken(issuedAt: $0(now)) } ?? test.providerToken()
            var headers = ProviderHeaders(try await test.makeDeviceToken(), token: token)
                .with("apns-push-type", "alert").with("authorization", "\(row.scheme) \(token)")
            for (name, value) in row.headers { headers = headers.with(name, value) }
            let client = try await test.connectProvider()
            let answer = try await client.send(headers.fields, body: row.body)
            #expect(answer.reason == reason)
            #expect((answer.status == 200) == (reason == nil))
            await client.close()
        }
    }
}

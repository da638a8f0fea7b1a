import Notifications
import Service
import Testing

@testable import ServiceTesting

/// Only notifications for the app's own topic can be silent (Guide, 2.2.2 and Table 8-2).
@Suite(.timeLimit(.minutes(2)))
struct SilentNotificationTests {
    /// A Live Activity needs an event and its time with `strict`.
    private static func payload(of kind: TopicKind) -> String {
        let event = kind == .liveActivity ? #","event":"update","timestamp":1,"content-state":{}"# : ""
        return #"{"aps":{"content-available":1\#(event)}}"#
    }

    /// Pushes for services are urgent whatever their payload is, and their rate is not limited.
    @Test(arguments: TopicKind.allCases.filter { $0 != .app }, Conformance.allCases)
    func `A push for a service is not silent`(_ kind: TopicKind, _ conformance: Conformance) async throws {
        try await TestService.run {
            $0.conformance = conformance
        } _: { test in
            let token = try await test.makeDeviceToken()
            var headers = ProviderHeaders(token, token: try test.providerToken())
                .with("apns-topic", test.bundleID + kind.suffix)
            let type = try required(PushType.allCases.first { $0.topicKind == kind })
            headers = headers.with("apns-push-type", type.rawValue)
            let client = try await test.connectProvider()
            for priority in ["10", "5", nil, "1"] {
                let answer = try await client.send(
                    headers.with("apns-priority", priority).fields, body: Self.payload(of: kind))
                #expect(answer.status == 200, "\(answer.body)")
            }
            if conformance == .apple {
                let untyped = headers.with("apns-push-type", nil).with("apns-priority", "10")
                #expect(try await client.send(untyped.fields, body: Self.payload(of: kind)).status == 200)
            }
            await client.close()
        }
    }
}

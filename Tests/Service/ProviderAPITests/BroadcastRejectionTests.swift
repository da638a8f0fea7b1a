import Delivery
import Foundation
import Notifications
import ProviderAPI
import Rates
import Service
import Testing

@testable import ServiceTesting

/// Why the provider API refuses a broadcast (docs/channels.md).
@Suite(.timeLimit(.minutes(5)))
struct BroadcastRejectionTests {
    /// Each reason for rejecting a broadcast, with the fault of the request. The channel stores nothing.
    static let rejections: [(reason: Rejection.Reason, change: @Sendable (inout ChannelHeaders) -> Void)] = [
        (.methodNotAllowed, { $0.set(":method", "GET") }),
        (.badPath, { $0.set(":path", "/4/broadcasts/apps/") }),
        (.badPath, { $0.set(":path", "/4/broadcasts/apps/com.example.app/more") }),
        (.badPath, { $0.set(":path", "/4/broadcasts") }),
        (.duplicateHeaders, { $0 = $0.adding("apns-push-type", "liveactivity") }),
        (.missingProviderToken, { $0.set("authorization", nil) }),
        (.invalidProviderToken, { $0.set("authorization", "bearer none") }),
        (.badMessageID, { $0.set("apns-request-id", "none") }),
        (.missingChannelID, { $0.set("apns-channel-id", nil) }),
        (.badChannelID, { $0.set("apns-channel-id", "none!") }),
        (.badExpirationDate, { $0.set("apns-expiration", "tomorrow") }),
        (.badExpirationDate, { $0.set("apns-expiration", "4000000000") }),
        (.badPriority, { $0.set("apns-priority", "7") }),
        (.missingPushType, { $0.set("apns-push-type", nil) }),
        (.invalidPushType, { $0.set("apns-push-type", "alert") }),
        (.topicMismatch, { $0.set(":path", "/4/broadcasts/apps/com.example.other") }),
        (.topicDisallowed, { $0.set(":path", "/4/broadcasts/apps/com.example.app.push-type.liveactivity") }),
        (.payloadEmpty, { $0.body = "" }),
        (.payloadEmpty, { $0.body = "[]" }),
        (.payloadTooLarge, { $0.body = #"{"a":"\#(String(repeating: "x", count: 5120))"}"# }),
        (.channelNotRegistered, { $0.set("apns-channel-id", ChannelHeaders.unknown) }),
    ]

    @Test(arguments: rejections.indices)
    func `Each rejection of a broadcast has the documented status and reason`(index: Int) async throws {
        let (reason, change) = Self.rejections[index]
        try await TestService.run { test in
            let channel = try await test.makeChannel()
            let provider = try await BroadcastProvider(test)
            let answer = try await provider.broadcast(to: channel, change)
            #expect((answer.status, answer.reason) == (reason.status, reason.rawValue))
            // Only an answer to a broadcast has the other identifier.
            let id = index == 3 ? "apns-id" : "apns-request-id"
            #expect(Set(answer.headers.keys) == [":status", id, "content-type"])
            // The connection goes on with the next request.
            #expect(
                try await provider.broadcast(to: channel) { $0.set("apns-push-type", "LiveActivity") }.status == 200)
            await provider.client.close()
        }
    }

    @Test func `The order of the checks decides if several things are wrong`() async throws {
        try await TestService.run { test in
            let channel = try await test.makeChannel()
            let provider = try await BroadcastProvider(test)
            var headers = ChannelHeaders(broadcastTo: nil, bundleID: "com.example.other", token: nil)
            headers.set(":method", "GET")
            for (name, value) in [
                ("apns-request-id", "none"), ("apns-expiration", "none"), ("apns-priority", "none"),
                ("apns-push-type", "none"),
            ] {
                headers.set(name, value)
            }
            headers.body = ""
            for (reason, mend) in [
                ("MethodNotAllowed", { $0.set(":method", "POST") }),
                ("MissingProviderToken", { $0.set("authorization", "bearer \(provider.token)") }),
                ("BadMessageId", { $0.set("apns-request-id", nil) }),
                ("MissingChannelId", { $0.set("apns-channel-id", ChannelHeaders.unknown) }),
                ("BadExpirationDate", { $0.set("apns-expiration", "4000000000") }),
                ("BadPriority", { $0.set("apns-priority", nil) }),
                ("InvalidPushType", { $0.set("apns-push-type", "LiveActivity") }),
                ("TopicMismatch", { $0.set(":path", "/4/broadcasts/apps/com.example.app") }),
                ("PayloadEmpty", { $0.body = "{}" }),
                ("ChannelNotRegistered", { $0.set("apns-channel-id", channel) }),
                ("BadExpirationDate", { $0.set("apns-expiration", "0") }),
            ] as [(String, (inout ChannelHeaders) throws -> Void)] {
                #expect(try await provider.client.send(headers.fields, body: headers.body).reason == reason)
                try mend(&headers)
            }
            #expect(try await provider.client.send(headers.fields, body: headers.body).status == 200)
            await provider.client.close()
        }
    }

    @Test func `The conformance strict refuses a key that Live Activities do not have`() async throws {
        for conformance in [Conformance.apple, .strict] {
            try await TestService.run {
                $0.conformance = conformance
            } _: { test in
                let channel = try await test.makeChannel()
                let provider = try await BroadcastProvider(test)
                for (body, isStrict) in [
                    (#"{"aps":{"event":"update","timestamp":1,"content-state":{},"stale-date":2}}"#, false),
                    (#"{"aps":{"event":"finish","timestamp":1,"content-state":{}}}"#, true),
                    (#"{"aps":{"event":"update","timestamp":1,"content-state":{},"content-changed":true}}"#, true),
                    (#"{"aps":{"event":"update","timestamp":1,"content_state":{}}}"#, true),
                    (#"{"event":"update"}"#, true),
                ] {
                    let answer = try await provider.broadcast(to: channel) {
                        $0.body = body
                        $0.set("apns-expiration", "0")
                        $0.set("apns-priority", "10")
                    }
                    #expect(answer.reason == (isStrict && conformance == .strict ? "PayloadEmpty" : nil), "\(body)")
                }
                // Apple requires both headers.
                for (name, reason) in [("apns-expiration", "BadExpirationDate"), ("apns-priority", "BadPriority")] {
                    let answer = try await provider.broadcast(to: channel) {
                        $0.set("apns-expiration", "0")
                        $0.set("apns-priority", "10")
                        $0.set(name, nil)
                    }
                    #expect(answer.reason == (conformance == .strict ? reason : nil), "\(name)")
                }
                await provider.client.close()
            }
        }
    }

    @Test func `Too many broadcasts to one channel are refused`() async throws {
        try await TestService.run {
            $0.channels.broadcastsPerChannel = Rate(burst: 1, perSecond: 0.001)
        } _: { test in
            let channel = try await test.makeChannel()
            let provider = try await BroadcastProvider(test)
            #expect(try await provider.broadcast(to: channel).status == 200)
            let refused = try await provider.broadcast(to: channel)
            #expect((refused.status, refused.reason) == (429, "TooManyRequests"))
            await provider.client.close()
        }
    }

    @Test func `A certificate broadcasts to its own app`() async throws {
        try await TestService.run { test in
            let channel = try await test.makeChannel()
            let provider = try await BroadcastProvider(test, certificate: try await test.makeCertificate())
            #expect(try await provider.broadcast(to: channel) { $0.set("authorization", nil) }.status == 200)
            let headers = ChannelHeaders(broadcastTo: channel, bundleID: "com.example.other", token: nil)
            let other = try await provider.client.send(headers.fields, body: headers.body)
            #expect((other.status, other.reason) == (403, "TopicMismatch"), "\(other)")
            await provider.client.close()
        }
    }
}

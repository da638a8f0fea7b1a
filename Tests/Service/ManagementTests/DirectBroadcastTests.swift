import Delivery
import Foundation
import NIOHTTP1
import Notifications
import Rates
import Service
import Testing

@testable import ServiceTesting

/// `/v1/broadcasts` of the management API: sending to a channel without a provider.
@Suite(.timeLimit(.minutes(3)))
struct DirectBroadcastTests {
    private static let id = "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"
    private static let payload = #"{"aps":{"content-state":{"score":1},"event":"update","timestamp":1800000000}}"#

    private static func run(
        _ configure: (inout Settings) -> Void = { _ in }, _ body: (TestService) async throws -> Void,
    ) async throws {
        try await TestService.run {
            $0.store = .memory
            configure(&$0)
        } _: {
            try await body($0)
        }
    }

    private static func ask(
        _ test: TestService, _ channel: String, _ more: String = #""pushType":"liveactivity""#,
        bundleID: String = "com.example.app", payload: String = payload, query: String = "",
    ) async throws -> [String: Any] {
        let answer = try await test.ask(
            "POST", "/v1/broadcasts" + query,
            body: #"{"bundleID":"\#(bundleID)","channelID":"\#(channel)","payload":\#(payload),\#(more)}"#)
        #expect(answer.status == 200, "\(answer.text)")
        return try required(answer.problem)
    }

    @Test func `It reaches the subscribers, and the journal and the log have it like a provider's`() async throws {
        try await Self.run { test in
            let channel = try await test.makeChannel(keepsNewest: true)
            let device = try await test.connectRegistered().client
            let stream = try await device.listen()
            #expect(try await device.subscribe(to: channel).status == 204)
            try await test.waitForSubscribers(1, of: channel)
            // Rehearsals affect only requests of providers.
            let rehearsal = #"{"rules":[{"name":"all","fault":{"answer":{"reason":"TooManyRequests"}}}]}"#
            #expect(try await test.ask("POST", "/v1/rehearsals", body: rehearsal).status == 200)
            let sent = try await Self.ask(
                test, channel, #""pushType":"LiveActivity","priority":5,"expiration":4000000000,"id":"\#(Self.id)""#)
            #expect(sent["status"] as? Int == 200)
            #expect(sent["apnsID"] as? String == Self.id)
            let line = try required(await stream.nextLine())
            #expect(line.contains(#""id":"\#(Self.id)""#))
            #expect(line.contains(#""channel":"\#(channel)""#))
            #expect(line.contains(#""priority":5,"expiration":4000000000"#))
            #expect(line.contains(#""payload":\#(Self.payload)"#))

            let waited = try await test.ask(
                "POST", "/v1/requests/wait", body: #"{"match":{"channel":"\#(channel)","outcome":"delivered"}}"#)
            let request = try required((waited.problem?["requests"] as? [[String: Any]])?.first)
            #expect(request["protocol"] as? String == "management")
            #expect(request["connection"] as? String == "management")
            #expect(request["topic"] as? String == "com.example.app.push-type.liveactivity")
            #expect(request["team"] as? String == test.description.key?.teamID)
            #expect(
                request["headers"] as? [String: String] == [
                    ":path": "/4/broadcasts/apps/com.example.app", "apns-channel-id": channel,
                    "apns-request-id": Self.id, "apns-expiration": "4000000000", "apns-priority": "5",
                    "apns-push-type": "LiveActivity",
                ])
            let log = try await test.ask("GET", "/v1/log?id=\(Self.id)").text
            for event in ["accepted", "stored", "sent"] { #expect(log.contains(#""event":"\#(event)""#)) }
            await device.close()
        }
    }

    @Test func `Without a connected subscriber it is stored or dropped`() async throws {
        try await Self.run { test in
            for (keeps, outcome) in [(true, "stored"), (false, "dropped")] {
                let channel = try await test.makeChannel(keepsNewest: keeps)
                #expect(try await Self.ask(test, channel)["status"] as? Int == 200)
                let waited = try await test.ask(
                    "POST", "/v1/requests/wait", body: #"{"match":{"channel":"\#(channel)","outcome":"\#(outcome)"}}"#)
                #expect(waited.status == 200, "\(waited.text)")
            }
        }
    }

    private static let rejections: [(reason: String, more: String, change: @Sendable (inout Wrong) -> Void)] = [
        ("BadPath", live, { $0.bundleID = "a/b" }),
        ("BadMessageId", live + #","id":"none""#, { _ in }),
        ("MissingChannelId", live, { $0.channel = "" }),
        ("BadChannelId", live, { $0.channel = "none!" }),
        ("BadPriority", live + #","priority":7"#, { _ in }),
        ("MissingPushType", #""priority":5"#, { _ in }),
        ("InvalidPushType", #""pushType":"alert""#, { _ in }),
        ("TopicMismatch", live, { $0.bundleID = "com.example.other" }),
        ("PayloadTooLarge", live, { $0.payload = #"{"a":"\#(String(repeating: "x", count: 5120))"}"# }),
        ("ChannelNotRegistered", live, { $0.channel = ChannelHeaders.unknown }),
        ("BadExpirationDate", live + #","expiration":4000000000"#, { _ in }),
    ]
    private static let live = #""pushType":"liveactivity""#

    private struct Wrong {
        var bundleID = "com.example.app"
        var channel: String
        var payload = DirectBroadcastTests.payload
    }

    @Test(arguments: [false, true])
    func `What the gateway refuses has its status and reason, also in a dry run`(isDryRun: Bool) async throws {
        try await Self.run { test in
            let channel = try await test.makeChannel()
            for (reason, more, change) in Self.rejections {
                var wrong = Wrong(channel: channel)
                change(&wrong)
                let answer = try await Self.ask(
                    test, wrong.channel, more, bundleID: wrong.bundleID, payload: wrong.payload,
                    query: isDryRun ? "?dryRun=true" : "")
                let status = Rejection.Reason(rawValue: reason)?.status
                #expect(answer["reason"] as? String == reason)
                #expect(answer["status"] as? Int == status, "\(reason)")
                #expect(answer["detail"] is String, "\(reason)")
            }
            let kept = try await test.ask("GET", "/v1/requests?outcome=rejected")
            let requests = try required(JSONSerialization.jsonObject(with: kept.body) as? [[String: Any]])
            #expect(requests.map { $0["reason"] as? String } == (isDryRun ? [] : Self.rejections.map(\.reason)))
            let id = requests.last?["apnsID"] as? String
            if let id { #expect(try await test.ask("GET", "/v1/log?id=\(id)").text.contains("BadExpirationDate")) }
        }
    }

    @Test func `A dry run sends, records and counts nothing`() async throws {
        try await Self.run({ $0.channels.broadcastsPerChannel = Rate(burst: 1, perSecond: 0.001) }) { test in
            let channel = try await test.makeChannel(keepsNewest: true)
            let complete = #""pushType":"liveactivity","priority":10,"expiration":0"#
            for _ in 0..<3 {
                let checked = try await Self.ask(test, channel, complete, query: "?dryRun=true")
                #expect(checked["status"] as? Int == 200)
                #expect(checked["apnsID"] == nil && checked["strict"] == nil)
                #expect(checked["bytes"] as? Int == Self.payload.utf8.count)
                #expect(checked["maximumBytes"] as? Int == 5120)
            }
            let lax = try await Self.ask(
                test, channel, complete, payload: #"{"aps":{"event":"update","content_state":{}}}"#,
                query: "?dryRun=true")
            let strict = try required(lax["strict"] as? [String: Any])
            #expect(lax["status"] as? Int == 200)
            #expect(strict["status"] as? Int == 400 && strict["reason"] as? String == "PayloadEmpty")
            #expect((strict["detail"] as? String)?.contains("aps.content_state") == true)
            #expect(try await test.ask("GET", "/v1/requests?protocol=management").text == "[]")
            #expect(try await test.ask("GET", "/v1/log").text.isEmpty)
            #expect(try await Self.ask(test, channel)["status"] as? Int == 200)
            #expect(try await Self.ask(test, channel)["reason"] as? String == "TooManyRequests")
        }
    }

    @Test func `With channels off it says so`() async throws {
        try await Self.run({ $0.channels.channelsPerApp = 0 }) { test in
            for query in ["", "?dryRun=true"] {
                let answer = try await Self.ask(test, ChannelHeaders.unknown, query: query)
                #expect(answer["reason"] as? String == "FeatureNotEnabled")
            }
        }
    }

    @Test(arguments: [
        (#"{}"#, ""), (#"{"bundleID":"a.b","channelID":"AAAA"}"#, ""),
        (#"{"bundleID":"a.b","channelID":"AAAA","payload":[]}"#, "/payload"),
        (#"{"bundleID":"a.b","channelID":"AAAA","payload":{},"token":"00"}"#, "/token"),
        (#"{"bundleID":"a.b","channelID":"AAAA","payload":{},"priority":-1}"#, "/priority"),
    ])
    func `A document that is wrong says where`(body: String, pointer: String) async throws {
        try await Self.run { test in
            let answer = try await test.ask("POST", "/v1/broadcasts", body: body)
            #expect(answer.status == 400)
            #expect(answer.problem?["pointer"] as? String == pointer, "\(answer.text)")
        }
    }
}

import Foundation
import NIOHTTP1
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// Broadcasts and the management of channels in the journal, in waits and in rehearsals, over the wire.
@Suite(.timeLimit(.minutes(3)))
struct ChannelObservationTests {
    private static let id = "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"

    /// The first request that matches, as soon as there is one.
    private static func wait(_ match: String, _ test: TestService) async throws -> [String: Any] {
        let answer = try await test.ask(
            "POST", "/v1/requests/wait", body: #"{"match":\#(match),"timeout":"PT60S"}"#)
        #expect(answer.status == 200, "\(answer.text)")
        return try required((answer.problem?["requests"] as? [[String: Any]])?.first)
    }

    @Test func `The journal has the management of channels`() async throws {
        try await TestService.runInMemory { test in
            let channels = try await test.connectChannels()
            let token = try test.providerToken()
            let created = try await channels.send(
                ChannelHeaders("POST", token: token).adding("apns-request-id", Self.id).fields,
                body: ChannelHeaders.creation)
            #expect(created.status == 201)
            let channel = try required(created.headers["apns-channel-id"]?.first)
            let request = try await Self.wait(#"{"protocol":"channels"}"#, test)
            #expect(request["protocol"] as? String == "channels")
            #expect(request["status"] as? Int == 201)
            #expect(request["apnsID"] as? String == Self.id)
            #expect(request["channel"] as? String == channel)
            #expect(request["topic"] as? String == test.bundleID + ".push-type.liveactivity")
            #expect(request["team"] as? String == test.description.key?.teamID)
            #expect(request["keyID"] as? String == test.description.key?.keyID)
            #expect(request["outcome"] == nil)
            #expect((request["payload"] as? [String: Any])?["push-type"] as? String == "LiveActivity")
            let kept = try required(request["headers"] as? [String: String])
            #expect(kept[":method"] == "POST")
            #expect(kept["authorization"]?.hasSuffix(".") == true)
            // A refusal, found by its reason and its channel.
            let unknown = ChannelHeaders.unknown
            let refused = try await channels.send(
                ChannelHeaders("GET", token: token, channel: unknown).fields, body: "")
            #expect(refused.status == 400)
            let found = try await Self.wait(
                #"{"reason":"ChannelNotRegistered","channel":"\#(unknown)"}"#, test)
            #expect(found["outcome"] as? String == "rejected")
            let badPath = try await channels.send(
                ChannelHeaders("GET", "nothing", token: token).fields, body: "")
            #expect(badPath.status == 404)
            #expect(try await Self.wait(#"{"reason":"BadPath"}"#, test)["protocol"] as? String == "channels")
            #expect(try await test.requests("?protocol=channels").count == 3)
            await channels.close()
        }
    }

    @Test func `The journal has a broadcast with what became of it`() async throws {
        try await TestService.runInMemory { test in
            let (kept, passing) = (try await test.makeChannel(keepsNewest: true), try await test.makeChannel())
            let provider = try await BroadcastProvider(test)
            #expect(try await provider.broadcast(to: kept, id: Self.id).status == 200)
            let stored = try await Self.wait(#"{"channel":"\#(kept)","protocol":"h2"}"#, test)
            #expect(stored["outcome"] as? String == "stored")
            #expect(stored["status"] as? Int == 200)
            #expect(stored["apnsID"] as? String == Self.id)
            #expect(stored["topic"] as? String == test.bundleID + ".push-type.liveactivity")
            #expect(stored["token"] == nil)
            #expect(stored["device"] == nil)
            let aps = (stored["payload"] as? [String: Any])?["aps"] as? [String: Any]
            #expect(aps?["event"] as? String == "update")
            #expect(try await provider.broadcast(to: passing).status == 200)
            let dropped = try await Self.wait(#"{"channel":"\#(passing)","pushType":"liveactivity"}"#, test)
            #expect(dropped["outcome"] as? String == "dropped")

            let device = try await test.connectRegistered().client
            let stream = try await device.listen()
            #expect(try await device.subscribe(to: passing).status == 204)
            try await test.waitForSubscribers(1, of: passing)
            #expect(try await provider.broadcast(to: passing).status == 200)
            let delivered = try await Self.wait(#"{"channel":"\#(passing)","outcome":"delivered"}"#, test)
            #expect(delivered["status"] as? Int == 200)
            #expect(try await stream.nextLine() != nil)

            let refused = try await provider.broadcast(to: passing) { $0.body = "[1" }
            #expect(refused.reason == "PayloadEmpty")
            #expect(try await Self.wait(#"{"reason":"PayloadEmpty"}"#, test)["channel"] as? String == passing)
            for client in [provider.client, device] { await client.close() }
        }
    }

    @Test func `A wait that times out says that only the channel differs`() async throws {
        try await TestService.runInMemory { test in
            let channel = try await test.makeChannel()
            let provider = try await BroadcastProvider(test)
            #expect(try await provider.broadcast(to: channel).status == 200)
            _ = try await Self.wait(#"{"channel":"\#(channel)","protocol":"h2"}"#, test)
            let answer = try await test.ask(
                "POST", "/v1/requests/wait",
                body: #"{"match":{"channel":"\#(ChannelHeaders.unknown)","protocol":"h2"},"timeout":"PT0.01S"}"#)
            #expect(answer.status == 408)
            let nearest = try required((answer.problem?["nearest"] as? [[String: Any]])?.first)
            #expect(nearest["differs"] as? [String] == ["channel"])
            await provider.client.close()
        }
    }

    // MARK: Rehearsals

    private static func begin(_ rule: String, _ test: TestService) async throws {
        let answer = try await test.ask("POST", "/v1/rehearsals", body: #"{"rules":[\#(rule)]}"#)
        #expect(answer.status == 200, "\(answer.text)")
    }

    @Test func `A rehearsal answers the creation of a channel, and nothing is created`() async throws {
        try await TestService.runInMemory { test in
            try await Self.begin(
                #"""
                {"match":{"protocol":"channels"},"when":{"first":1},
                 "fault":{"answer":{"reason":"CannotCreateChannelConfig","retryAfter":3}}}
                """#, test)
            let channels = try await test.connectChannels()
            let token = try test.providerToken()
            let answer = try await channels.send(
                ChannelHeaders("POST", token: token).fields, body: ChannelHeaders.creation)
            #expect((answer.status, answer.reason) == (400, "CannotCreateChannelConfig"))
            #expect(answer.headers["retry-after"] == ["3"])
            #expect(answer.headers["apns-request-id"]?.count == 1)
            let listed = try await channels.send(
                ChannelHeaders("GET", "all-channels", token: token).fields, body: "")
            #expect(listed.body == #"{"channels":[]}"#)
            let request = try await Self.wait(#"{"reason":"CannotCreateChannelConfig"}"#, test)
            #expect(request["rule"] as? String != nil)
            await channels.close()
        }
    }

    @Test func `A late answer of the management of channels is otherwise the usual one`() async throws {
        try await TestService.runInMemory { test in
            try await Self.begin(#"{"match":{"protocol":"channels"},"fault":{"delay":"PT0.05S"}}"#, test)
            let channels = try await test.connectChannels()
            let token = try test.providerToken()
            let id = try await channels.create(token: token)
            let refused = try await channels.send(
                ChannelHeaders("GET", token: token, channel: ChannelHeaders.unknown).fields, body: "")
            #expect(refused.reason == "ChannelNotRegistered")
            let wrong = try await channels.send(ChannelHeaders("PUT", token: token).fields, body: "")
            #expect(wrong.reason == "MethodNotAllowed")
            let listed = try await channels.send(
                ChannelHeaders("GET", "all-channels", token: token).fields, body: "")
            #expect(listed.body == #"{"channels":["\#(id)"]}"#)
            await channels.close()
        }
    }

    @Test(arguments: [#"{"reset":"REFUSED_STREAM"}"#, #"{"close":"fin"}"#, #"{"close":"rst"}"#])
    func `A reset or closed request of the management of channels has no answer`(fault: String) async throws {
        try await TestService.runInMemory { test in
            try await Self.begin(#"{"match":{"protocol":"channels"},"when":{"first":1},"fault":\#(fault)}"#, test)
            let channels = try await test.connectChannels()
            let token = try test.providerToken()
            let answer = try await channels.send(
                ChannelHeaders("POST", token: token).fields, body: ChannelHeaders.creation)
            #expect(answer.status == 0)
            #expect(answer.error != nil)
            let again = try await test.connectChannels()
            let listed = try await again.send(ChannelHeaders("GET", "all-channels", token: token).fields, body: "")
            #expect(listed.body == #"{"channels":[]}"#)
            for client in [channels, again] { await client.close() }
        }
    }

    @Test func `A rehearsal answers, loses and duplicates broadcasts`() async throws {
        try await TestService.runInMemory { test in
            let channel = try await test.makeChannel()
            let device = try await test.connectRegistered().client
            let stream = try await device.listen()
            #expect(try await device.subscribe(to: channel).status == 204)
            try await test.waitForSubscribers(1, of: channel)
            let answer = try await test.ask(
                "POST", "/v1/rehearsals",
                body: #"""
                    {"rules":[
                    {"match":{"payload":{"n":1}},"fault":{"answer":{"reason":"ServiceUnavailable"}}},
                    {"match":{"payload":{"n":2}},"fault":{"lose":true}},
                    {"match":{"channel":"\#(channel)","payload":{"n":3}},"fault":{"duplicate":2}},
                    {"match":{"payload":{"n":4}},"fault":{"answer":{"reason":"TooManyRequests"},"accepted":true}}]}
                    """#)
            #expect(answer.status == 200, "\(answer.text)")
            let provider = try await BroadcastProvider(test)
            for (number, status) in [(1, 503), (2, 200), (3, 200), (4, 429)] {
                let answer = try await provider.broadcast(to: channel) {
                    $0.body = #"{"aps":{"event":"update","content-state":{}},"n":\#(number)}"#
                }
                #expect(answer.status == status)
                #expect(answer.headers["apns-request-id"]?.count == 1)
            }
            var numbers: [String] = []
            for _ in 0..<3 {
                let line = try required(await stream.nextLine())
                numbers.append(try required(line.firstMatch(of: /"n":(\d)/).map { String($0.1) }))
            }
            #expect(numbers == ["3", "3", "4"])
            let lost = try await Self.wait(#"{"payload":{"n":2}}"#, test)
            #expect(lost["outcome"] as? String == "lost")
            for client in [provider.client, device] { await client.close() }
        }
    }

    @Test func `Faults that channels cannot have are refused`() async throws {
        try await TestService.runInMemory { test in
            for fault in [#"{"lose":true}"#, #"{"duplicate":2}"#, #"{"settings":{"maxConcurrentStreams":1}}"#] {
                let answer = try await test.ask(
                    "POST", "/v1/rehearsals",
                    body: #"{"rules":[{"match":{"protocol":"channels"},"fault":\#(fault)}]}"#)
                #expect(answer.status == 400)
                #expect(answer.problem?["pointer"] as? String == "/rules/0/match/protocol")
            }
        }
    }
}

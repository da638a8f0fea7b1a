import Foundation
import Management
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// What the key of a grant may send, and to what. The notifications of the app are delivered here.
@Suite(.timeLimit(.minutes(2)))
struct GrantTests {
    private func send(
        _ test: TestService,
        _ instance: TestInstance,
        to handle: String,
        _ change: (inout WirePush) -> Void = { _ in },
    ) async throws -> WireClient.Answer {
        var push = WirePush(token: handle, topic: test.bundleID, authorization: try instance.token())
        change(&push)
        let client = try await test.connectProvider()
        let answer = try await client.send(push)
        await client.close()
        return answer
    }

    @Test(arguments: [StoreChoice.sqlite, .memory])
    func `A notification to a handle reaches the device`(_ store: StoreChoice) async throws {
        try await TestService.run {
            $0.store = store
        } _: { test in
            let instance = try await test.makeGrant()
            let handle = try await test.makeHandle(test.makeDeviceToken(), instance.clientKey)
            let answer = try await send(test, instance, to: handle)
            #expect(answer.status == 200, "\(answer.body)")
            let upper = try await send(test, instance, to: handle.uppercased())
            #expect(upper.status == 200)
            let log = try await test.ask("GET", "/v1/log?id=\(answer["apns-id"] ?? "")")
            #expect(log.text.contains(#""event":"stored""#))
            #expect(try await test.grant(instance.grant).sent == ["200": 2])
        }
    }

    @Test func `The same device token and grant give the same handle, and another grant another`() async throws {
        try await TestService.runInMemory { test in
            let (one, two) = (try await test.makeGrant("one"), try await test.makeGrant("two"))
            let token = try await test.makeDeviceToken()
            let handle = try await test.makeHandle(token, one.clientKey)
            #expect(handle.utf8.count == 64 && handle != token)
            #expect(try await test.makeHandle(token.uppercased(), one.clientKey) == handle)
            let other = try await test.makeHandle(token, two.clientKey)
            #expect(other != handle)
            let answer = try await send(test, one, to: other)
            #expect(answer.status == 400 && answer.reason == "DeviceTokenNotForTopic")
            #expect(try await test.grant(one.grant).handles == 1)
        }
    }

    @Test func `A device token is refused, and a handle that nobody has made`() async throws {
        try await TestService.runInMemory { test in
            let instance = try await test.makeGrant()
            let tokens = [
                try await test.makeDeviceToken(), String(repeating: "ab", count: 32),
                String(repeating: "ab", count: 80), String(repeating: "ab", count: 8), "xyz",
            ]
            for token in tokens {
                let answer = try await send(test, instance, to: token)
                #expect(answer.status == 400 && answer.reason == "BadDeviceToken", "\(token)")
            }
            #expect(try await test.grant(instance.grant).sent == ["BadDeviceToken": 5])
        }
    }

    @Test func `A deleted handle is worthless, and only its own grant deletes it`() async throws {
        try await TestService.runInMemory { test in
            let (one, two) = (try await test.makeGrant("one"), try await test.makeGrant("two"))
            let handle = try await test.makeHandle(test.makeDeviceToken(), one.clientKey)
            #expect(try await test.askGateway("DELETE", "/1/handles/\(handle)", clientKey: two.clientKey).status == 404)
            #expect(try await test.askGateway("DELETE", "/1/handles/\(handle)").status == 403)
            #expect(try await test.askGateway("DELETE", "/1/handles/\(handle)", clientKey: one.clientKey).status == 200)
            #expect(try await test.askGateway("DELETE", "/1/handles/\(handle)", clientKey: one.clientKey).status == 404)
            #expect(try await send(test, one, to: handle).reason == "BadDeviceToken")
        }
    }

    @Test func `An app that was removed is answered as with its device token`() async throws {
        try await TestService.runInMemory { test in
            let instance = try await test.makeGrant()
            let handle = try await test.makeHandle(test.makeDeviceToken(isGone: true), instance.clientKey)
            let answer = try await send(test, instance, to: handle)
            #expect(answer.status == 410 && answer.reason == "Unregistered")
        }
    }

    // MARK: Limits

    @Test func `What a limit refuses has its reason and names it`() async throws {
        try await TestService.runInMemory { test in
            let instance = try await test.makeGrant {
                $0.topics = [test.bundleID]
                $0.pushTypes = ["alert"]
                $0.priorities = [5]
                $0.payloadBytes = 40
            }
            let handle = try await test.makeHandle(test.makeDeviceToken(), instance.clientKey)
            func refusal(_ change: (inout WirePush) -> Void) async throws -> WireClient.Answer {
                try await send(test, instance, to: handle) {
                    $0["apns-push-type"] = "alert"
                    $0["apns-priority"] = "5"
                    change(&$0)
                }
            }
            #expect(try await refusal { _ in }.status == 200)
            let voip = try await refusal {
                $0["apns-topic"] = test.bundleID + ".voip"
                $0["apns-push-type"] = "voip"
            }
            #expect(voip.reason == "TopicDisallowed" && voip.body.contains("topics"))
            let background = try await refusal { $0["apns-push-type"] = "background" }
            #expect(background.reason == "InvalidPushType" && background.body.contains("pushTypes"))
            let urgent = try await refusal { $0["apns-priority"] = "10" }
            #expect(urgent.reason == "BadPriority" && urgent.body.contains("priorities"))
            let long = try await refusal { $0.payload(bytes: 41) }
            #expect(long.status == 413 && long.reason == "PayloadTooLarge" && long.body.contains("payloadBytes"))
            let other = try await refusal { $0["apns-topic"] = "com.example.other" }
            #expect(other.reason == "TopicDisallowed")
        }
    }

    @Test func `A grant with encryptedOnly sends nothing that can be read`() async throws {
        try await TestService.runInMemory { test in
            let instance = try await test.makeGrant { $0.encryptedOnly = true }
            let handle = try await test.makeHandle(test.makeDeviceToken(), instance.clientKey)
            let open = try await send(test, instance, to: handle)
            #expect(open.status == 400 && open.reason == "PayloadEmpty" && open.body.contains("encryptedOnly"))
            let sealed = try await send(test, instance, to: handle) {
                $0.payload(#"{"aps":{"mutable-content":1,"alert":{"loc-key":"NEW"}},"data":"c2VjcmV0"}"#)
            }
            #expect(sealed.status == 200)
        }
    }

    @Test func `In production too a refusal names the limit`() async throws {
        try await TestService.run(environment: .production) { test in
            let instance = try await test.makeGrant { $0.priorities = [5] }
            let handle = try await test.makeHandle(test.makeDeviceToken(), instance.clientKey)
            let answer = try await send(test, instance, to: handle)
            #expect(answer.reason == "BadPriority" && answer.body.contains("priorities"))
        }
    }

    @Test func `Beyond the rate and the daily number the answer is 429 with retry-after`() async throws {
        try await TestService.runInMemory { test in
            let fast = try await test.makeGrant("fast") { ($0.rate, $0.burst) = (1, 3) }
            let few = try await test.makeGrant("few") { $0.daily = 2 }
            let token = try await test.makeDeviceToken()
            for (instance, name) in [(fast, "rate"), (few, "daily")] {
                let handle = try await test.makeHandle(token, instance.clientKey)
                let push = WirePush(token: handle, topic: test.bundleID, authorization: try instance.token())
                let client = try await test.connectProvider()
                var answers = [try await client.send(push)]
                try await withThrowingTaskGroup(of: WireClient.Answer.self) { group in
                    for _ in 0..<19 { group.addTask { try await client.send(push) } }
                    for try await answer in group { answers.append(answer) }
                }
                await client.close()
                let refused = answers.filter { $0.status == 429 }
                #expect(answers.first?.status == 200 && !refused.isEmpty)
                for answer in refused {
                    #expect(answer.reason == "TooManyRequests" && answer.body.contains(name))
                    #expect(answer["retry-after"].flatMap { Int($0) }.map { $0 >= 1 } == true)
                }
                let shown = try await test.grant(instance.grant)
                #expect(shown.sent["TooManyRequests"] == UInt64(refused.count))
                #expect(shown.today == UInt64(20 - refused.count))
            }
        }
    }

    @Test func `A restart keeps the daily number`() async throws {
        try await TestService.runTwice { test in
            let instance = try await test.makeGrant { $0.daily = 2 }
            let handle = try await test.makeHandle(test.makeDeviceToken(), instance.clientKey)
            for _ in 0..<2 { #expect(try await send(test, instance, to: handle).status == 200) }
            return (instance, handle)
        } _: { test, kept in
            let answer = try await send(test, kept.0, to: kept.1)
            #expect(answer.status == 429)
        }
    }

    // MARK: Suspended, revoked, ended

    @Test func `A suspension applies at once on a live connection, and ends with resume`() async throws {
        try await TestService.runInMemory { test in
            let instance = try await test.makeGrant()
            let handle = try await test.makeHandle(test.makeDeviceToken(), instance.clientKey)
            let push = WirePush(token: handle, topic: test.bundleID, authorization: try instance.token())
            let client = try await test.connectProvider()
            #expect(try await client.send(push).status == 200)
            #expect(try await test.change(instance.grant, #"{"suspended":true}"#).suspended)
            let refused = try await client.send(push)
            #expect(refused.status == 403 && refused.reason == "InvalidProviderToken")
            let phone = try await test.askGateway("POST", "/1/handles", clientKey: instance.clientKey, body: "{}")
            #expect(phone.status == 403)
            #expect(try await !test.change(instance.grant, #"{"suspended":false}"#).suspended)
            #expect(try await client.send(push).status == 200)
            await client.close()
        }
    }

    @Test func `A revoked grant is refused on a live connection, and cannot be changed`() async throws {
        try await TestService.runInMemory { test in
            let instance = try await test.makeGrant()
            let handle = try await test.makeHandle(test.makeDeviceToken(), instance.clientKey)
            let push = WirePush(token: handle, topic: test.bundleID, authorization: try instance.token())
            let client = try await test.connectProvider()
            #expect(try await client.send(push).status == 200)
            let revoked = try await test.ask("DELETE", "/v1/grants/\(instance.grant)")
            #expect(revoked.status == 200 && revoked.text.contains("revoked"))
            #expect(try await client.send(push).reason == "InvalidProviderToken")
            let changed = try await test.ask("PATCH", "/v1/grants/\(instance.grant)", body: #"{"suspended":false}"#)
            #expect(changed.status == 409)
            await client.close()
        }
    }

    @Test func `A grant ends at its date`() async throws {
        try await TestService.run {
            $0.clock = .virtual
        } _: { test in
            let now = UInt64(Date().timeIntervalSince1970 * 1000)
            let instance = try await test.makeGrant { $0.expires = now + 600_000 }
            let handle = try await test.makeHandle(test.makeDeviceToken(), instance.clientKey)
            #expect(try await send(test, instance, to: handle).status == 200)
            _ = try await test.ask("POST", "/v1/clock", body: #"{"advance":"PT20M"}"#)
            let answer = try await send(test, instance, to: handle)
            #expect(answer.status == 403 && answer.reason == "InvalidProviderToken" && answer.body.contains("expires"))
        }
    }

    @Test func `A connection belongs to one grant, and not to its team too`() async throws {
        try await TestService.runInMemory { test in
            let (one, two) = (try await test.makeGrant("one"), try await test.makeGrant("two"))
            let token = try await test.makeDeviceToken()
            let handle = try await test.makeHandle(token, one.clientKey)
            let client = try await test.connectProvider()
            let first = WirePush(token: handle, topic: test.bundleID, authorization: try one.token())
            #expect(try await client.send(first).status == 200)
            for authorization in [try two.token(), try test.providerToken()] {
                let push = WirePush(token: token, topic: test.bundleID, authorization: authorization)
                #expect(try await client.send(push).reason == "UnrelatedKeyIdInToken")
            }
            await client.close()
        }
    }

    @Test func `A grant uses no broadcast channels`() async throws {
        try await TestService.runInMemory { test in
            let instance = try await test.makeGrant()
            var push = WirePush(token: "", topic: test.bundleID, authorization: try instance.token())
            push.path = "/4/broadcasts/apps/\(test.bundleID)"
            push["apns-channel-id"] = "AAAA"
            push["apns-push-type"] = "liveactivity"
            let client = try await test.connectProvider()
            let answer = try await client.send(push)
            #expect(answer.status == 403 && answer.reason == "Forbidden")
            await client.close()
        }
    }
}

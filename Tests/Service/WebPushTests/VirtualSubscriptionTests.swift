import Foundation
import Notifications
import Testing
import WebPushEncryption

@testable import ServiceTesting

/// The subscriptions of virtual devices: fixtures, endpoints, and the text in the journal.
@Suite(.timeLimit(.minutes(2)))
struct VirtualSubscriptionTests {
    @Test func `A fixture's subscription takes messages, and the journal has their text`() async throws {
        try await PushedService.run { service in
            let subscription = try #require(
                try await service.subscriptions(#""subscriptions":[{"bundleID":"com.example.shop","name":"alice"}]"#)
                    .first)
            #expect(subscription.endpoint.hasPrefix(service.origin + "/wp/"))
            #expect(subscription.p256dh.count == 87 && subscription.auth.count == 22)
            #expect(subscription.privateKey.count == 43)
            for (coding, text) in [(WebPushCoding.aes128gcm, "Grüße"), (.aesgcm, "")] {
                #expect(try await service.send(text, to: subscription, as: coding).status == 201)
            }
            let match = #"{"match":{"protocol":"webpush","subscription":"alice","outcome":"delivered"},"count":2}"#
            let waited = try await service.test.manage("POST", "/v1/requests/wait", Data(match.utf8))
            #expect(waited.status == 200, "\(String(decoding: waited.body, as: UTF8.self))")
            let requests = try await service.journal("team=ABCDE12345")
            #expect(requests.map { $0["text"]?.string } == ["Grüße", ""])
            #expect(requests.allSatisfy { $0["topic"]?.string == "com.example.shop" && $0["bytes"] != nil })
            #expect(try await service.journal("text=Gr%C3%BC%C3%9Fe").count == 1)
            #expect(try await service.journal("text=another").isEmpty)
        }
    }

    @Test func `What cannot be decrypted, and what is not UTF-8, has no text`() async throws {
        try await PushedService.run { service in
            let subscription = try #require(
                try await service.subscriptions(#""subscriptions":[{"name":"a"},{"name":"b"}]"#).first)
            #expect(try await service.send(at: subscription.endpoint).status == 201)
            let message = try subscription.encrypted(bytes: [0xff, 0xfe])
            #expect(try await service.send(at: subscription.endpoint, body: message).status == 201)
            #expect(try await service.send("refused", to: subscription, fields: []).status == 400)
            #expect(try await service.journal("subscription=a").map { $0["text"] } == [nil, nil, nil])
        }
    }

    @Test func `The journal says why a message was refused, also one to a subscription that has ended`() async throws {
        try await PushedService.run { service in
            let subscription = try #require(
                try await service.subscriptions(#""subscriptions":[{"name":"a"}]"#).first)
            #expect(try await service.send("x", to: subscription, fields: []).status == 400)
            #expect(
                try await service.journal("status=400").first?["reason"]?.string?.contains("TTL is missing") == true)
            let devices = try await service.test.manage("GET", "/v1/devices")
            let list = try JSONValue(answer: Array(devices.body))
            // Beside the device that the service was made with.
            let device = list.elements.first { $0.members["virtual"] == true }
            let id = try #require(device?.members["deviceID"]?.string)
            let removed = try await service.test.manage(
                "PATCH", "/v1/devices/\(id)", Data(#"{"behaviour":{"kind":"removed"}}"#.utf8))
            #expect(removed.status == 200)
            #expect(try await service.send("x", to: subscription).status == 404)
            let gone = try await service.journal("status=404&team=ABCDE12345&subscription=a")
            #expect(gone.map { $0["reason"]?.string } == ["There is no such endpoint, or its subscription has ended."])
        }
    }

    @Test func `A subscription that is plain takes a body as it is`() async throws {
        try await PushedService.run { service in
            let subscription = try #require(
                try await service.subscriptions(#""subscriptions":[{"name":"a","plain":true}]"#).first)
            let answer = try await service.send(
                at: subscription.endpoint, fields: [("TTL", "60")], body: Array("hello".utf8))
            #expect(answer.status == 201)
            #expect(try await service.journal("text=hello").count == 1)
        }
    }

    @Test func `A subscription with a key refuses others`() async throws {
        try await PushedService.run { service in
            let (owner, stranger) = (VAPIDFixture(), VAPIDFixture())
            let subscription = try #require(
                try await service.subscriptions(#""subscriptions":[{"name":"a","vapid":"\#(owner.key)"}]"#).first)
            func status(_ fields: [(String, String)]) async throws -> UInt {
                try await service.send("x", to: subscription, fields: [("TTL", "60")] + fields).status
            }
            #expect(try await status([]) == 401)
            #expect(try await status([service.authorization(stranger)]) == 403)
            #expect(try await status([service.authorization(owner)]) == 201)
        }
    }

    @Test func `A fixture that names what an earlier one was answered with gets the same endpoint and keys`()
        async throws
    {
        try await PushedService.run { service in
            let first = try #require(try await service.subscriptions(#""subscriptions":[{"name":"a"}]"#).first)
            let written = String(decoding: try JSONEncoder().encode([first]), as: UTF8.self)
            // The origin of an earlier start was another.
            let elsewhere = written.replacingOccurrences(of: "127.0.0.1", with: "push.example.com")
            #expect(try await service.subscriptions(#""subscriptions":\#(elsewhere)"#) == [first])
            #expect(try await service.send("x", to: first).status == 201)
            let other = try #require(try await service.subscriptions(#""subscriptions":[{"name":"a"}]"#).first)
            #expect(other.endpoint != first.endpoint && other.p256dh != first.p256dh)
            #expect(try await service.send("x", to: first).status == 404)
        }
    }

    @Test(
        arguments: [
            (#""subscriptions":[{"name":""}]"#, 400, "/name"),
            (#""subscriptions":[{"name":"a","bundleID":"com.example.other"}]"#, 400, "/bundleID"),
            (#""subscriptions":[{"name":"a"},{"name":"a"}]"#, 400, "/1/name"),
            (#""subscriptions":[{"name":"a","vapid":"BAAA"}]"#, 400, "/vapid"),
            (#""subscriptions":[{"name":"a","vapid":"\#(VAPIDFixture().key)="}]"#, 400, "/vapid"),
            (#""subscriptions":[{"name":"a\n"}]"#, 400, "/name"),
            (#""subscriptions":[{"name":"a","privateKey":"AAAA"}]"#, 400, "/privateKey"),
            (#""subscriptions":[{"name":"a","auth":"AAAA"}]"#, 400, "/auth"),
            (#""subscriptions":[{"name":"a","p256dh":"AAAA"}]"#, 400, "/p256dh"),
            (#""subscriptions":[{"name":"a","endpoint":"https://example.com/wp/x"}]"#, 400, "/endpoint"),
            (#""subscriptions":[{"name":"a","privatekey":"x"}]"#, 400, "/privatekey"),
            (#""apps":[],"subscriptions":[{"name":"a"}]"#, 400, "/subscriptions/0"),
        ])
    func `What is wrong with a subscription is said with its place`(
        _ device: String, _ status: Int, _ pointer: String
    ) async throws {
        try await PushedService.run { service in
            let answer = try await service.fixture(device)
            let text = String(decoding: answer.body, as: UTF8.self)
            #expect(answer.status == status && text.contains(pointer), "\(text)")
        }
    }

    @Test func `An endpoint belongs to one subscription`() async throws {
        try await PushedService.run { service in
            let endpoint = #""endpoint":"\#(service.endpoint.url(at: service.origin))""#
            let taken = try await service.fixture(#""subscriptions":[{"name":"a",\#(endpoint)}]"#)
            #expect(taken.status == 409, "\(String(decoding: taken.body, as: UTF8.self))")
            #expect(try await service.send().status == 201, "The endpoint's own subscription is as before.")
        }
    }

    @Test func `A fixture that names a taken endpoint is refused with its place, and nothing is changed`() async throws
    {
        try await PushedService.run { service in
            let first = try #require(try await service.subscriptions(#""subscriptions":[{"name":"a"}]"#).first)
            let taken = service.endpoint.url(at: service.origin)
            let refused = try await service.fixture(
                #""subscriptions":[{"name":"b"},{"name":"c","endpoint":"\#(taken)"}]"#)
            let text = String(decoding: refused.body, as: UTF8.self)
            #expect(
                refused.status == 409 && text.contains("/teams/0/devices/0/subscriptions/1/endpoint"), "\(text)")
            #expect(try await service.send("still there", to: first).status == 201)
            let device = try await service.test.manage(
                "POST", "/v1/devices",
                Data(#"{"team":"ABCDE12345","subscriptions":[{"name":"d","endpoint":"\#(taken)"}]}"#.utf8))
            let answer = String(decoding: device.body, as: UTF8.self)
            #expect(device.status == 409 && answer.contains(#""/subscriptions/0/endpoint""#), "\(answer)")
            #expect(try await service.send().status == 201, "The endpoint's own subscription is as before.")
        }
    }

    @Test func `An endpoint of a device that is removed for a while is taken`() async throws {
        try await PushedService.run { service in
            let removed = #""behaviour":{"kind":"removed"},"subscriptions":[{"name":"a"}]"#
            let first = try #require(try await service.subscriptions(removed).first)
            let new = #""subscriptions":[{"name":"b","endpoint":"\#(first.endpoint)"}]"#
            let other = try await service.fixture(new, team: "FGHIJ12345", app: "com.example.other")
            let text = String(decoding: other.body, as: UTF8.self)
            #expect(other.status == 409 && text.contains("/subscriptions/0/endpoint"), "\(text)")
            let same = try #require(try await service.subscriptions(new).first)
            #expect(same.endpoint == first.endpoint, "A team that is replaced gives its endpoints up.")
        }
    }

    @Test func `Without Web Push a subscription is refused`() async throws {
        try await TestService.run { test in
            let document = #"{"teams":[{"apps":["com.example.shop"],"devices":[{"subscriptions":[{"name":"a"}]}]}]}"#
            let answer = try await test.manage("POST", "/v1/fixtures", Data(document.utf8))
            let text = String(decoding: answer.body, as: UTF8.self)
            #expect(answer.status == 409 && text.contains("--web-push"), "\(text)")
            #expect(text.contains("/teams/0/devices/0/subscriptions"), "\(text)")
        }
    }

    @Test func `A new device may have subscriptions, is listed with them, and ends them`() async throws {
        try await PushedService.run { service in
            _ = try await service.subscriptions(#""subscriptions":[]"#)
            let new =
                #"{"team":"ABCDE12345","name":"phone","behaviour":{"kind":"offline"},"subscriptions":[{"name":"a"}]}"#
            let made = try await service.test.manage("POST", "/v1/devices", Data(new.utf8))
            struct Device: Decodable {
                let deviceID: String
                let subscriptions: [TestSubscription]?
            }
            let device = try JSONDecoder().decode(Device.self, from: made.body)
            let subscription = try #require(device.subscriptions?.first)
            let listed = try JSONDecoder().decode(
                [Device].self, from: try await service.test.manage("GET", "/v1/devices").body)
            #expect(listed.first { $0.deviceID == device.deviceID }?.subscriptions == [subscription])
            #expect(try await service.send("x", to: subscription).status == 201)
            #expect(try await service.journal("text=x").first?["outcome"]?.string == "stored")

            func behave(_ kind: String) async throws {
                let change = Data(#"{"behaviour":{"kind":"\#(kind)"}}"#.utf8)
                #expect(try await service.test.manage("PATCH", "/v1/devices/\(device.deviceID)", change).status == 200)
            }
            try await behave("removed")
            #expect(try await service.send("x", to: subscription).status == 404)
            try await behave("online")
            #expect(try await service.send("back", to: subscription).status == 201)
            let match = #"{"match":{"text":"back","outcome":"delivered"}}"#
            #expect(try await service.test.manage("POST", "/v1/requests/wait", Data(match.utf8)).status == 200)
            #expect(try await service.test.manage("DELETE", "/v1/devices/\(device.deviceID)").status == 200)
            #expect(try await service.send("x", to: subscription).status == 404)
        }
    }
}

extension TestSubscription {
    fileprivate func encrypted(bytes: [UInt8]) throws -> [UInt8] {
        try WebPushSender(p256dh: p256dh, auth: auth).encrypt(bytes).body
    }
}

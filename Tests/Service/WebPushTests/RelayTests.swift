import CommonTesting
import Delivery
import Foundation
import NIOHTTP1
import Notifications
import Rates
import Service
import Testing
import WebPush

@testable import ServiceTesting

/// The relay's URL over the wire, in front of a second service that plays Apple's.
@Suite(.timeLimit(.minutes(2)))
struct RelayTests {
    @Test(arguments: [true, false])
    func `A message to the relay's URL arrives as the public relays send it`(_ isHTTP2: Bool) async throws {
        try await RelayRig.run(isHTTP2: isHTTP2) { rig in
            let token = try await rig.apple.makeDeviceToken()
            let answer = try await rig.send(
                token + "/a%20b/c%2Fd",
                fields: [
                    ("TTL", "3600"), ("Urgency", "low"), ("Topic", "mentions"), ("Content-Encoding", "aesgcm"),
                    ("Encryption", "salt=AAECAwQFBgcICQoLDA0ODw"),
                    ("Crypto-Key", "dh=\(String(repeating: "A", count: 87));p256ecdsa=x"),
                ])
            #expect(answer.status == 201, "\(answer.body)")
            #expect(answer["TTL"] == "3600")
            let location = try #require(answer["Location"])
            #expect(location.hasPrefix(rig.service.origin + "/wp/m/"))
            #expect(try await rig.service.send(.DELETE, at: location).status == 404, "The upstream has it.")
            let arrived = try #require(try await rig.arrived().last)
            #expect(
                arrived.payload
                    == #"{"aps":{"alert":"🎺","content-available":1,"mutable-content":1},"k":"\#(Self.zeros)","#
                    + #""p":"0rJua05","s":"009c61o!#m2NH?C3>iWS","x":"a b/c/d"}"#)
            #expect(arrived.headers["apns-topic"] == rig.apple.bundleID)
            #expect(arrived.headers["apns-push-type"] == "alert" && arrived.headers["apns-priority"] == "5")
            let expiration = try #require(arrived.headers["apns-expiration"].flatMap(Double.init))
            #expect(abs(expiration - Date().timeIntervalSince1970 - 3600) < 60)
            let collapse = try #require(arrived.headers["apns-collapse-id"])
            #expect(collapse.utf8.count == 43 && collapse != "mentions")
            // Another device's topic of the same name is another one.
            let other = try await rig.apple.makeDeviceToken()
            #expect(try await rig.send(other, fields: RelayRig.fields + [("Topic", "mentions")]).status == 201)
            let second = try #require(try await rig.arrived().last)
            #expect(second.headers["apns-collapse-id"] != collapse && !second.payload.contains(#""x""#))
            #expect(second.headers["apns-priority"] == "10")
        }
    }

    /// 65 bytes of 0 in z85.
    private static let zeros = String(repeating: "0", count: 82)

    @Test func `Without TTL it is one of 30 days, and what is wrong is said as for an endpoint`() async throws {
        try await RelayRig.run { rig in
            let token = try await rig.apple.makeDeviceToken()
            let answer = try await rig.send(token + "/")
            #expect(answer.status == 201 && answer["TTL"] == "2592000")
            #expect(try await rig.arrived().last?.payload.contains(#""x""#) == false)
            #expect(try await rig.send(token, fields: []).status == 415)
            #expect(try await rig.send(token, fields: RelayRig.fields + [("TTL", "x")]).status == 400)
            #expect(try await rig.send(token, body: [UInt8](repeating: 1, count: 4097)).status == 413)
            #expect(try await rig.send(token, method: .GET).status == 405)
            let jwt = [("Authorization", "vapid t=a.b.c, k=d")]
            #expect(try await rig.send(token, fields: RelayRig.fields + jwt).status == 403)
            #expect(try await rig.send(token, fields: RelayRig.fields + [Self.signed(rig)]).status == 201)
            #expect(try await rig.arrived().count == 2)
        }
    }

    private static func signed(_ rig: RelayRig) throws -> (String, String) {
        try rig.service.authorization(VAPIDFixture())
    }

    @Test func `A body that does not fit is 503, because these apps fetch none`() async throws {
        try await RelayRig.run { rig in
            let token = try await rig.apple.makeDeviceToken()
            #expect(try await rig.send(token, body: [UInt8](repeating: 1, count: 3100)).status == 201)
            let large = try await rig.send(token, body: [UInt8](repeating: 1, count: 4096))
            #expect(large.status == 503 && large.body.contains("fetch"), "\(large.body)")
            #expect(try await rig.arrived().count == 1)
        }
    }

    @Test func `A token that the upstream does not know is 404, and is not asked about again`() async throws {
        try await RelayRig.run { rig in
            let gone = try await rig.apple.makeDeviceToken(isGone: true)
            let first = try await rig.send(gone)
            #expect(first.status == 404 && !first.body.contains(gone), "\(first.body)")
            #expect(try await rig.arrived().map(\.status) == [410])
            #expect(try await rig.send(gone + "/x").status == 404)
            #expect(try await rig.send(gone.uppercased()).status == 404)
            #expect(try await rig.arrived().count == 1)
            let bad = String(repeating: "5a", count: 32)
            #expect(try await rig.send(bad).status == 404)
            #expect(try await rig.send(bad).status == 404)
            #expect(try await rig.arrived().map(\.status) == [410, 400])
        }
    }

    @Test func `Without the setting, and with a path that is none, it is 404 and nothing is asked`() async throws {
        try await RelayRig.run(relay: nil) { rig in
            let token = try await rig.apple.makeDeviceToken()
            #expect(try await rig.send(token).status == 404)
            #expect(try await rig.set(#"{"relayTo":true}"#).status == 200)
            for path in ["", "zz", "5a", token + "5", token + "?a", token + "/%ff", token + "/" + Self.long] {
                #expect(try await rig.send(path).status == 404, "\(path)")
            }
            #expect(try await rig.send(token, environment: "production").status == 404)
            #expect(try await rig.send(token, environment: "sandbox").status == 404)
            #expect(try await rig.arrived().isEmpty)
            #expect(try await rig.send(token).status == 201)
            #expect(try await rig.set(#"{"relayTo":false}"#).status == 200)
            #expect(try await rig.send(token).status == 404)
        }
    }

    private static let long = String(repeating: "x", count: 513)

    @Test func `The device token is in no line of the log, the journal and the metrics`() async throws {
        try await RelayRig.run { rig in
            let tokens = [try await rig.apple.makeDeviceToken(), try await rig.apple.makeDeviceToken(isGone: true)]
            for (token, status) in zip(tokens, [201, 404] as [UInt]) {
                #expect(try await rig.send(token + "/secret").status == status)
            }
            let log = try await firstValue {
                let text = try await rig.gateway.ask("GET", "/v1/log").text
                return text.split(separator: "\n").count { $0.contains(#""answered""#) } == 2 ? text : nil
            }
            let journal = try await rig.gateway.ask("GET", "/v1/requests").text
            let metrics = try await rig.gateway.ask("GET", "/metrics").text
            for token in tokens {
                for text in [log, journal, metrics] { #expect(!text.lowercased().contains(token)) }
            }
        }
    }

    @Test func `The journal has each message to the relay's URL, and rehearsals act on it`() async throws {
        try await RelayRig.run { rig in
            let token = try await rig.apple.makeDeviceToken()
            #expect(try await rig.send(token + "/secret", fields: RelayRig.fields + [("Topic", "t")]).status == 201)
            #expect(try await rig.send(token, fields: []).status == 415)
            let gone = try await rig.apple.makeDeviceToken(isGone: true)
            #expect(try await rig.send(gone).status == 404)
            let entries = try await rig.service.journal("protocol=webpush")
            #expect(entries.map { $0["status"] } == [.integer(201), .integer(415), .integer(404)], "\(entries)")
            #expect(entries.map { $0["outcome"]?.string } == ["pending", "rejected", "rejected"])
            let first = try #require(entries.first)
            #expect(first["topic"]?.string == rig.gateway.bundleID && first["forwarded"] == .bool(true))
            #expect(first["bytes"] == .integer(5) && first["subscription"] == nil && first["token"] == nil)
            #expect(first["apnsID"]?.string == (try await rig.arrived().first?.headers["apns-id"]))
            let text = try await rig.gateway.ask("GET", "/v1/requests").text.lowercased()
            for token in [token, gone] { #expect(!text.contains(token)) }
            let rules = #"{"rules":[{"match":{"topic":"\#(rig.gateway.bundleID)"},"fault":{"lose":true}}]}"#
            #expect(try await rig.gateway.ask("POST", "/v1/rehearsals", body: rules).status == 200)
            #expect(try await rig.send(token).status == 201)
            #expect(try await rig.service.journal("outcome=lost").count == 1)
            #expect(try await rig.arrived().count == 2, "What is lost is not forwarded.")
        }
    }

    @Test func `Plain messages are taken if the app takes them`() async throws {
        try await RelayRig.run(relay: #"{"relayTo":true,"plain":true}"#) { rig in
            let token = try await rig.apple.makeDeviceToken()
            #expect(try await rig.send(token, fields: [], body: Array("Hi".utf8)).status == 201)
            #expect(try await rig.arrived().last?.payload.contains(#""p":"2M7"#) == true)
        }
    }

    @Test func `Only one app of an environment has the URL, and the refusal names it`() async throws {
        try await RelayRig.run { rig in
            try await rig.gateway.createApp("com.example.second")
            let second = try await rig.set(#"{"relayTo":true}"#, of: "com.example.second")
            #expect(second.status == 409 && second.text.contains(rig.gateway.bundleID), "\(second.text)")
            #expect(try await rig.set(#"{"template":{"aps":{}}}"#, of: "com.example.second").status == 200)
            let path = "/v1/apps/\(rig.gateway.bundleID)/web-push/development"
            let shown = try await rig.gateway.ask("GET", path)
            #expect(shown.status == 200 && shown.text.contains(#""relayTo":true"#), "\(shown.text)")
            #expect(try await rig.gateway.ask("DELETE", path).status == 200)
            #expect(try await rig.gateway.ask("GET", path).status == 404)
            #expect(try await rig.set(#"{"relayTo":true}"#, of: "com.example.second").status == 200)
        }
    }

    @Test func `A bad template is refused with its place`() async throws {
        try await RelayRig.run(relay: nil) { rig in
            let answer = try await rig.set(#"{"template":{"aps":{},"b":{"$webPush":"bodi"}}}"#)
            #expect(answer.status == 400 && answer.text.contains("/template/b/$webPush"), "\(answer.text)")
        }
    }

    private static let two = Rate(burst: 2, perSecond: 0.001)

    @Test(arguments: [\WebPushLimits.relayedPerToken, \.relayedPerAddress, \.relayedPerApp])
    func `Each rate answers 429 with a time`(
        _ rate: any WritableKeyPath<WebPushLimits, Rate> & Sendable
    ) async throws {
        try await RelayRig.run(settings: { $0.webPush.limits[keyPath: rate] = Self.two }) { rig in
            let token = try await rig.apple.makeDeviceToken()
            for _ in 0..<2 { #expect(try await rig.send(token).status == 201) }
            let answer = try await rig.send(token)
            #expect(answer.status == 429, "\(answer.body)")
            #expect((answer["Retry-After"].flatMap(Int.init) ?? 0) > 1)
            let other = try await rig.apple.makeDeviceToken()
            #expect(try await rig.send(other).status == (rate == \WebPushLimits.relayedPerToken ? 201 : 429))
        }
    }

    @Test func `An app without an upstream, and an upstream in trouble, are 503`() async throws {
        try await RelayRig.run { rig in
            let token = try await rig.apple.makeDeviceToken()
            rig.apple.stop()
            // Until it has begun to stop, it accepts.
            let answer = try await firstValue {
                let answer = try await rig.send(token)
                return answer.status == 201 ? nil : answer
            }
            #expect(answer.status == 503, "\(answer.body)")
            let path = "/v1/apps/\(rig.gateway.bundleID)/upstreams/development"
            #expect(try await rig.gateway.ask("DELETE", path).status == 200)
            let none = try await rig.send(token)
            #expect(none.status == 503 && none.body.contains("no upstream"), "\(none.body)")
        }
    }
}

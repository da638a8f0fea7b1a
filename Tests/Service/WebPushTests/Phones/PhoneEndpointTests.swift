import Foundation
import Management
import NIOHTTP1
import Notifications
import ProviderAPI
import Rates
import Service
import Testing

@testable import ServiceTesting

/// The endpoints of handles.
@Suite(.timeLimit(.minutes(2)))
struct PhoneEndpointTests {
    @Test func `An endpoint is made with a handle, and stays for each name until it ends`() async throws {
        try await PhoneRig.run { rig in
            let first = try await rig.make("mastodon")
            #expect(
                first.endpoint.hasPrefix(rig.pushed.origin + "/wp/")
                    && first.endpoint.hasSuffix(first.endpoint.suffix(43)))
            #expect(try await rig.make("mastodon").endpoint == first.endpoint)
            let other = try await rig.make("lemmy")
            #expect(other.endpoint != first.endpoint && other.handle == first.handle)
            #expect(try await rig.pushed.send(.GET, at: first.endpoint, fields: []).body.contains("unifiedpush"))
            #expect(try await rig.remove(first.handle, "mastodon") == 200)
            #expect(try await rig.remove(first.handle, "mastodon") == 404)
            let again = try await rig.make("mastodon")
            #expect(again.endpoint != first.endpoint)
            for method in [HTTPMethod.POST, .GET, .HEAD] {
                #expect(try await rig.pushed.send(method, at: first.endpoint).status == 404)
            }
            #expect(try await rig.pushed.send(.HEAD, at: other.endpoint, fields: []).status == 200)
        }
    }

    @Test func `A name is percent-decoded in a path`() async throws {
        try await PhoneRig.run { rig in
            let made = try await rig.make("a/b @ü")
            #expect(try await rig.remove(made.handle, "a%2Fb%20@%C3") == 404)
            #expect(try await rig.remove(made.handle, "a%2") == 404)
            #expect(try await rig.remove(made.handle, "a%2Fb%20@%C3%BC") == 200)
        }
    }

    @Test func `A handle takes its endpoints along`() async throws {
        try await PhoneRig.run { rig in
            let made = try await rig.make()
            let path = "/1/handles/\(made.handle)"
            #expect(try await rig.test.askGateway("DELETE", path, clientKey: rig.clientKey).status == 200)
            #expect(try await rig.pushed.send(at: made.endpoint).status == 404)
            #expect(try await rig.make().endpoint != made.endpoint)
        }
    }

    @Test func `A client key ends the endpoints of its own grant alone`() async throws {
        try await PhoneRig.run { rig in
            let made = try await rig.make()
            let other = try await rig.test.makeGrant()
            let path = "/1/handles/\(made.handle)/subscriptions/mastodon"
            #expect(try await rig.test.askGateway("DELETE", path, clientKey: other.clientKey).status == 404)
            #expect(try await rig.test.askGateway("DELETE", path).status == 403)
            #expect(try await rig.test.askGateway("POST", path, clientKey: rig.clientKey).status == 405)
            #expect(try await rig.pushed.send(.GET, at: made.endpoint, fields: []).status == 200)
        }
    }

    @Test func `What is wrong with a wish for an endpoint is said, and no handle is made`() async throws {
        try await PhoneRig.run { rig in
            let key = String(decoding: Base64URL.encoded([UInt8](repeating: 4, count: 65)), as: UTF8.self)
            for wrong in [
                "[]", "1", "true", "{}", #"{"name":1}"#, #"{"name":""}"#,
                #"{"name":"\#(String(repeating: "a", count: 101))"}"#, #"{"name":"a","vapid":1}"#,
                #"{"name":"a","vapid":""}"#, #"{"name":"a","vapid":"\#(key)"}"#,
                #"{"name":"a","vapid":"\#(VAPIDFixture().key)="}"#, #"{"name":"a\n"}"#, #"{"name":"\u0000"}"#,
                #"{"name":"\u009bm"}"#,
            ] {
                let answer = try await rig.test.askGateway(
                    "POST", "/1/handles", clientKey: rig.clientKey, body: rig.wish(wrong))
                #expect(answer.status == 400 && answer.reason == "PayloadEmpty", "\(wrong): \(answer.body)")
                #expect(answer.body.contains("detail"))
            }
            #expect(try await rig.test.grant(rig.grant).handles == 0)
            let without = try await rig.test.askGateway(
                "POST", "/1/handles", clientKey: rig.clientKey, body: rig.wish("null"))
            #expect(without.status == 200 && !without.body.contains("endpoint"))
        }
    }

    @Test func `Without Web Push, or without an upstream, there is no endpoint`() async throws {
        try await TestService.runInMemory { test in
            let instance = try await test.makeGrant()
            let body =
                #"{"bundleID":"\#(test.bundleID)","environment":"development","token":"\#(PhoneRig.token)","#
                + #""webPush":{"name":"a"}}"#
            let answer = try await test.askGateway("POST", "/1/handles", clientKey: instance.clientKey, body: body)
            #expect(answer.reason == "FeatureNotEnabled" && answer.body.contains("--web-push"))
            let path = "/1/handles/\(PhoneRig.token)/subscriptions/a"
            let removed = try await test.askGateway("DELETE", path, clientKey: instance.clientKey)
            #expect(removed.status == 404 && removed.body.contains("no Web Push"))
        }
        try await PushedService.run { service in
            let instance = try await service.test.makeGrant()
            let body =
                #"{"bundleID":"\#(service.test.bundleID)","environment":"development","token":"\#(PhoneRig.token)","#
                + #""webPush":{"name":"a"}}"#
            let answer = try await service.test.askGateway(
                "POST", "/1/handles", clientKey: instance.clientKey, body: body)
            #expect(answer.reason == "FeatureNotEnabled" && answer.body.contains("upstream"))
        }
    }

    @Test func `A handle has 100 endpoints at most, and one more is refused with a detail`() async throws {
        try await PhoneRig.run { rig in
            let all = try await rig.test.connectProvider()
            func ask(_ name: String) async throws -> WireClient.Answer {
                try await all.send(
                    [
                        (":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", "/1/handles"),
                        ("authorization", "Bearer \(rig.clientKey)"),
                    ], body: rig.wish(#"{"name":"\#(name)"}"#))
            }
            for number in 0..<100 { #expect(try await ask("\(number)").status == 200) }
            let refused = try await ask("more")
            #expect(refused.status == 403 && refused.body.contains("100 endpoints"))
            #expect(try await ask("7").status == 200)
            await all.close()
        }
    }

    /// The same requests on both ports.
    @Test(arguments: [(true, false), (false, false), (false, true)])
    func `Web Push's port answers requests about handles and grants as the provider API's does`(
        _ isHTTP2: Bool, _ plain: Bool
    ) async throws {
        try await PhoneRig.run(isHTTP2: isHTTP2, plain: plain) { rig in
            let made = try await rig.make("kept")
            let code = #"{"code":"x","publicKey":"y"}"#
            let requests: [(String, String, String?, String)] = [
                ("POST", "/1/handles", rig.clientKey, rig.wish(nil)),
                ("POST", "/1/handles", rig.clientKey, rig.wish(#"{"name":"kept"}"#)),
                ("POST", "/1/handles", rig.clientKey, "{}"), ("POST", "/1/handles", nil, rig.wish(nil)),
                ("POST", "/1/handles", "ck_unknown", rig.wish(nil)),
                ("POST", "/1/handles", rig.clientKey, String(repeating: " ", count: 5000)),
                ("PUT", "/1/handles", rig.clientKey, ""), ("GET", "/1/handles", rig.clientKey, ""),
                ("POST", "/1/grants", nil, code), ("GET", "/1/grants", nil, ""), ("POST", "/1/grantsx", nil, ""),
                ("DELETE", "/1/handles/00", rig.clientKey, ""),
                ("DELETE", "/1/handles/\(made.handle)?a=b", rig.clientKey, ""),
                ("DELETE", "/1/handles/\(made.handle)/subscriptions/other", rig.clientKey, ""),
                ("DELETE", "/1/handles/\(made.handle)/subscriptions/", rig.clientKey, ""),
            ]
            for (method, path, key, body) in requests {
                let expected = try await rig.test.askGateway(method, path, clientKey: key, body: body)
                let answer = try await rig.ask(method, path, key, body)
                #expect(Int(answer.status) == expected.status, "\(method) \(path)")
                #expect(answer.body == expected.body, "\(method) \(path)")
                #expect(answer["content-type"] == "application/json")
            }
            let removed = try await rig.ask("DELETE", "/1/handles/\(made.handle)/subscriptions/kept", rig.clientKey)
            #expect(removed.status == 200 && removed.body.isEmpty)
            #expect(try await rig.ask("DELETE", "/1/handles/\(made.handle)", rig.clientKey).status == 200)
            #expect(try await rig.ask("DELETE", "/1/handles/\(made.handle)", rig.clientKey).status == 404)
        }
    }

    @Test func `Requests about handles count for the sender's address that a proxy names`() async throws {
        try await PhoneRig.run(
            isHTTP2: false, plain: true,
            settings: { $0.provider.gatewayRequestsPerAddress = Rate(burst: 2, perSecond: 0.001) }
        ) { rig in
            func ask(_ address: String) async throws -> PushedService.Answer {
                try await rig.ask(
                    "POST", "/1/handles", rig.clientKey, rig.wish(nil), [("X-Forwarded-For", "1.1.1.1, \(address)")])
            }
            for _ in 0..<2 { #expect(try await ask("192.0.2.1").status == 200) }
            let refused = try await ask("192.0.2.1")
            #expect(refused.status == 429 && refused["retry-after"] == "1")
            #expect(try await ask("192.0.2.2").status == 200)
        }
    }

    @Test func `A fixture cannot name a phone's endpoint`() async throws {
        try await PhoneRig.run { rig in
            let made = try await rig.make()
            let refused = try await rig.pushed.fixture(
                #""subscriptions":[{"name":"a","endpoint":"\#(made.endpoint)"}]"#)
            let text = String(decoding: refused.body, as: UTF8.self)
            #expect(refused.status == 409 && text.contains("/subscriptions/0/endpoint"), "\(text)")
            #expect(try await rig.pushed.send(at: made.endpoint).status == 201)
            #expect(rig.requests.count == 1)
        }
    }

    @Test func `A grant for Web Push has no key`() async throws {
        try await PhoneRig.run { rig in
            let made = try await rig.test.ask(
                "POST", "/v1/grants", body: #"{"bundleID":"\#(rig.test.bundleID)","name":"x","webPush":true}"#)
            #expect(
                made.status == 200 && made.text.contains(#""webPush":true"#) && made.text.contains(#""clientKey":"#))
            #expect(!made.text.contains("keyID") && !made.text.contains("privateKey"))
            let shown = try await rig.test.ask("GET", "/v1/grants/\(rig.grant)").text
            #expect(shown.contains(#""webPush":true"#) && !shown.contains("publicKey"))
            let grant = try await rig.test.grant(rig.grant)
            #expect(grant.keyID == nil && grant.keys.map(\.kind) == ["client"])
            let added = try await rig.test.ask(
                "POST", "/v1/grants/\(rig.grant)/keys", body: #"{"kind":"provider"}"#)
            #expect(added.status == 409, "\(added.text)")
            let client = try await rig.test.ask("POST", "/v1/grants/\(rig.grant)/keys", body: #"{"kind":"client"}"#)
            #expect(client.status == 200)
            let both = try await rig.test.ask(
                "POST", "/v1/grants",
                body: #"{"bundleID":"\#(rig.test.bundleID)","name":"x","webPush":true,"publicKey":"x"}"#)
            #expect(both.status == 400 && both.text.contains("/publicKey"))
            let coded = try await rig.test.ask(
                "POST", "/v1/grants",
                body: #"{"bundleID":"\#(rig.test.bundleID)","name":"x","webPush":true,"registration":"code"}"#)
            #expect(coded.status == 400 && coded.text.contains(#""pointer":"/registration""#), "\(coded.text)")
            #expect(try await rig.test.change(rig.grant, #"{"rate":5}"#).webPush == true)
        }
    }
}

extension PhoneRig {
    /// Sends a request to Web Push's port.
    func ask(
        _ method: String, _ path: String, _ clientKey: String?, _ body: String = "", _ more: [(String, String)] = [],
    ) async throws -> PushedService.Answer {
        let fields = (clientKey.map { [("Authorization", "Bearer \($0)")] } ?? []) + more
        return try await pushed.send(HTTPMethod(rawValue: method), at: path, fields: fields, body: Array(body.utf8))
    }
}

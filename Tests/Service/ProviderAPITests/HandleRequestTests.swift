import Crypto
import Foundation
import Management
import Notifications
import ProviderAPI
import Rates
import Service
import Testing

@testable import ServiceTesting

/// Requests about handles and grants.
@Suite(.timeLimit(.minutes(2)))
struct HandleRequestTests {
    private static let token = String(repeating: "5a", count: 32)

    private func body(
        _ bundleID: String = "com.example.app", _ environment: String = "development", _ token: String = token,
    ) -> String { #"{"bundleID":"\#(bundleID)","environment":"\#(environment)","token":"\#(token)"}"# }

    @Test func `What is wrong with a request for a handle is said`() async throws {
        try await TestService.runInMemory { test in
            let instance = try await test.makeGrant()
            let wrong: [(body: String, status: Int, reason: String)] = [
                ("", 400, "PayloadEmpty"), ("[]", 400, "PayloadEmpty"), ("{}", 400, "PayloadEmpty"),
                (#"{"bundleID":1,"environment":"development","token":"00"}"#, 400, "PayloadEmpty"),
                (body("com.example.other"), 400, "TopicDisallowed"),
                (body("com.example.app", "staging"), 400, "PayloadEmpty"),
                (body("com.example.app", "development", "xyz"), 400, "BadDeviceToken"),
                (body("com.example.app", "development", "00"), 400, "BadDeviceToken"),
                (body("com.example.app", "development", "{length = 32, bytes = 0x5a5a}"), 400, "BadDeviceToken"),
                (body("com.example.app", "development", String(repeating: "0", count: 402)), 400, "BadDeviceToken"),
                (String(repeating: " ", count: 5000), 413, "PayloadTooLarge"),
            ]
            for (body, status, reason) in wrong {
                let answer = try await test.askGateway("POST", "/1/handles", clientKey: instance.clientKey, body: body)
                #expect(answer.status == status && answer.reason == reason, "\(body.prefix(80)): \(answer.body)")
                #expect(answer.body.contains("detail"))
                #expect(answer.body.contains("description of its data") == body.contains("bytes ="))
            }
        }
    }

    @Test(arguments: [nil, "ck_unknown", "sk_x", String(repeating: "x", count: 3000)])
    func `A request without a valid client key is refused`(_ key: String?) async throws {
        try await TestService.runInMemory { test in
            let answer = try await test.askGateway("POST", "/1/handles", clientKey: key, body: body())
            #expect(answer.status == 403 && answer.reason == "Forbidden")
        }
    }

    @Test(
        arguments: [
            ("GET", "/1/handles", 405), ("DELETE", "/1/handles", 405), ("POST", "/1/handles/00", 405),
            ("DELETE", "/1/handles/00", 404), ("POST", "/1/handlesx", 404), ("POST", "/1/grants/x", 404),
            ("PUT", "/1/grants", 405), ("DELETE", "/1/handles/00/00", 404),
        ])
    func `Another method or path is refused`(_ method: String, _ path: String, _ status: Int) async throws {
        try await TestService.runInMemory { test in
            let instance = try await test.makeGrant()
            #expect(try await test.askGateway(method, path, clientKey: instance.clientKey).status == status)
        }
    }

    @Test func `A grant has no more handles than its limit`() async throws {
        try await TestService.runInMemory { test in
            let instance = try await test.makeGrant { $0.maximumHandles = 2 }
            for byte in ["01", "02", "01"] {
                _ = try await test.makeHandle(String(repeating: byte, count: 32), instance.clientKey)
            }
            let answer = try await test.askGateway("POST", "/1/handles", clientKey: instance.clientKey, body: body())
            #expect(answer.status == 403 && answer.reason == "Forbidden" && answer.body.contains("2 handles"))
            #expect(try await test.grant(instance.grant).handles == 2)
        }
    }

    @Test func `Too many requests of one address or with one client key are answered 429`() async throws {
        for isAddress in [true, false] {
            try await TestService.run {
                $0.store = .memory
                $0.provider.gatewayRequestsPerAddress.burst = isAddress ? 3 : 1000
                $0.provider.gatewayRequestsPerAddress.perSecond = 0.001
                $0.provider.handlesPerGrant.burst = isAddress ? 1000 : 3
                $0.provider.handlesPerGrant.perSecond = 0.001
            } _: { test in
                let instance = try await test.makeGrant()
                for _ in 0..<3 { _ = try await test.makeHandle(Self.token, instance.clientKey) }
                let answer = try await test.askGateway(
                    "POST", "/1/handles", clientKey: instance.clientKey, body: body())
                #expect(answer.status == 429 && answer["retry-after"] != nil)
            }
        }
    }

    // MARK: Invitations

    private func invite(_ test: TestService) async throws -> ManagementMessages.GrantInvitationMade {
        var grant = ManagementMessages.NewGrant(bundleID: test.bundleID, name: "invited")
        grant.limits.daily = 5
        return try await test.administer("POST", "/v1/grant-invitations", grant)
    }

    private func ask(_ test: TestService, code: String, key: String) async throws -> WireClient.Answer {
        let body = try JSONEncoder().encode(["code": code, "publicKey": key])
        return try await test.askGateway("POST", "/1/grants", body: String(decoding: body, as: UTF8.self))
    }

    @Test func `What is wrong with a request for a grant is said`() async throws {
        try await TestService.runInMemory { test in
            let code = try await invite(test).code
            let key = P256.Signing.PrivateKey()
            let point = key.publicKey.x963Representation.base64EncodedString()
            let wrong: [(body: String, detail: String)] = [
                ("x", "The body is not JSON"), ("[]", "The body is not a JSON dictionary."),
                (#"{"code":"a","code":"b"}"#, "The body has a key twice in one object"),
                ("{}", "must be JSON with code and publicKey"),
            ]
            for (body, detail) in wrong {
                let answer = try await test.askGateway("POST", "/1/grants", body: body)
                #expect(answer.status == 400 && answer.body.contains(detail), "\(answer.body)")
            }
            let cut = try await ask(test, code: code, key: "-----BEGIN PUBLIC KEY-----\nMFkw\n")
            #expect(cut.status == 400 && cut.body.contains("The publicKey cannot be used"), "\(cut.body)")
            // A mark that an editor writes, and a line's end after the point, do no harm.
            let body = "\u{feff}" + #"{"code":"\#(code)","publicKey":"\#(point)\n"}"#
            let made = try await test.askGateway("POST", "/1/grants", body: body)
            #expect(made.status == 200, "\(made.body)")
        }
    }

    @Test(arguments: [StoreChoice.sqlite, .memory])
    func `An instance makes its grant with a code, once`(_ store: StoreChoice) async throws {
        try await TestService.run {
            $0.store = store
        } _: { test in
            let code = try await invite(test).code
            let key = P256.Signing.PrivateKey()
            let answer = try await ask(test, code: code, key: key.publicKey.pemRepresentation)
            #expect(answer.status == 200, "\(answer.body)")
            let made = try JSONDecoder().decode(ManagementMessages.GrantMade.self, from: Data(answer.body.utf8))
            let shown = try await test.grant(made.grant)
            #expect(shown.name == "invited" && shown.limits.daily == 5 && shown.clientKey == made.clientKey)
            let instance = TestInstance(made, key: key)
            let handle = try await test.makeHandle(test.makeDeviceToken(), instance.clientKey)
            let push = WirePush(token: handle, topic: test.bundleID, authorization: try instance.token())
            let client = try await test.connectProvider()
            #expect(try await client.send(push).status == 200)
            await client.close()
            let again = P256.Signing.PrivateKey().publicKey.pemRepresentation
            #expect(try await ask(test, code: code, key: again).status == 403)
        }
    }

    @Test func `The same code with the same key gets the same grant until the grant is revoked`() async throws {
        try await TestService.runInMemory { test in
            let code = try await invite(test).code
            let key = P256.Signing.PrivateKey().publicKey
            let answer = try await ask(test, code: code, key: key.pemRepresentation)
            #expect(answer.status == 200, "\(answer.body)")
            // Whoever has lost the answer may write the key in another form.
            let again = try await ask(test, code: code, key: key.x963Representation.base64EncodedString())
            #expect((again.status, again.body) == (200, answer.body))
            let grants: [ManagementMessages.Grant] = try await test.administer("GET", "/v1/grants")
            #expect(grants.count == 1)
            #expect(try await test.ask("DELETE", "/v1/grants/\(grants.first?.grant ?? "")").status == 200)
            let ended = try await ask(test, code: code, key: key.pemRepresentation)
            #expect(ended.status == 403 && ended.body.contains("revoked"), "\(ended.body)")
        }
    }

    @Test func `A request that fails does not use the code up`() async throws {
        try await TestService.runInMemory { test in
            let code = try await invite(test).code
            #expect(try await ask(test, code: code, key: "no key").status == 400)
            let used = P256.Signing.PrivateKey().publicKey.pemRepresentation
            let _: ManagementMessages.GrantMade = try await test.administer(
                "POST", "/v1/grants",
                ManagementMessages.NewGrant(bundleID: test.bundleID, name: "first", publicKey: used))
            #expect(try await ask(test, code: code, key: used).reason == "Forbidden")
            let key = P256.Signing.PrivateKey().publicKey.x963Representation.base64EncodedString()
            #expect(try await ask(test, code: code, key: key).status == 200)
        }
    }

    @Test(arguments: [#""capture":true,"credentials":\#(anyKey)"#, #""credentials":{"kind":"passthrough"}"#])
    func `While an upstream takes nothing of grants, no invitation is made, and one is 409 with the cause`(
        _ settings: String
    ) async throws {
        try await TestService.runInMemory { test in
            let code = try await invite(test).code
            let path = "/v1/apps/\(test.bundleID)/upstreams/development"
            let set = try await test.ask("PUT", path, body: #"{"url":"https://127.0.0.1:1",\#(settings)}"#)
            #expect(set.status == 200, "\(set.text)")
            let offered = try await test.ask(
                "POST", "/v1/grant-invitations", body: #"{"bundleID":"\#(test.bundleID)","name":"x"}"#)
            #expect(offered.status == 409)
            let key = P256.Signing.PrivateKey().publicKey.pemRepresentation
            let refused = try await ask(test, code: code, key: key)
            #expect(refused.status == 409 && refused.body.contains(test.bundleID), "\(refused.body)")
            // The code is good when the upstream has changed.
            #expect(try await test.ask("DELETE", path).status == 200)
            #expect(try await ask(test, code: code, key: key).status == 200)
        }
    }

    /// Credentials of an upstream that is never reached.
    private static let anyKey: String = {
        let pem = P256.Signing.PrivateKey().pemRepresentation.replacing("\n", with: "\\n")
        return #"{"kind":"key","teamID":"ABCDE12345","keyID":"ABCDE12345","privateKey":"\#(pem)"}"#
    }()

    @Test func `A burst needs a rate`() async throws {
        try await TestService.runInMemory { test in
            let answer = try await test.ask(
                "POST", "/v1/grants", body: #"{"bundleID":"\#(test.bundleID)","name":"x","burst":5}"#)
            #expect(answer.status == 400 && answer.problem?["pointer"] as? String == "/burst", "\(answer.text)")
            let instance = try await test.makeGrant { ($0.rate, $0.burst) = (2, 5) }
            #expect(try await test.change(instance.grant, #"{"burst":6}"#).limits.burst == 6)
            // A rate that is removed takes its burst along.
            let without = try await test.change(instance.grant, #"{"rate":0}"#)
            #expect(without.limits.rate == nil && without.limits.burst == nil)
            let refused = try await test.ask("PATCH", "/v1/grants/\(instance.grant)", body: #"{"burst":5}"#)
            #expect(refused.status == 400)
        }
    }

    @Test func `The form of encrypted payloads is set, shown and enforced`() async throws {
        try await TestService.runInMemory { test in
            for (form, payload) in [
                (#""matrix""#, #"{"aps":{},"room_id":"!a:example.org"}"#),
                (#""web-push""#, #"{"aps":{},"p":"AAAA","k":"AAAA"}"#),
                (#"{"keys":{"count":"number"}}"#, #"{"aps":{},"count":3}"#), ("true", #"{"aps":{},"any":"AAAA"}"#),
            ] {
                let key = P256.Signing.PrivateKey()
                let point = key.publicKey.x963Representation.base64EncodedString()
                let made = try await test.ask(
                    "POST", "/v1/grants",
                    body:
                        #"{"bundleID":"\#(test.bundleID)","name":"x","publicKey":"\#(point)","encryptedOnly":\#(form)}"#
                )
                #expect(made.status == 200, "\(made.text)")
                let grant = try JSONDecoder().decode(ManagementMessages.GrantMade.self, from: made.body)
                #expect(grant.bundleID == test.bundleID)
                let shown = try await test.ask("GET", "/v1/grants/\(grant.grant)").text
                #expect(shown.contains(#""encryptedOnly":\#(form)"#), "\(shown)")
                #expect(shown.contains(#""readable":["apns-collapse-id","aps.alert.loc-key""#))
                #expect(shown.contains(#""room_id""#) == (form == #""matrix""#))
                let instance = TestInstance(grant, key: key)
                let handle = try await test.makeHandle(test.makeDeviceToken(), instance.clientKey)
                let client = try await test.connectProvider()
                let headers = ProviderHeaders(handle, token: try instance.token())
                #expect(try await client.send(headers.fields, body: payload).status == 200)
                let other = #"{"aps":{},"other":"Hello there"}"#
                #expect(try await client.send(headers.fields, body: other).reason == "PayloadEmpty")
                await client.close()
            }
            for form in [
                #""other""#, #"{"keys":{"aps":"opaque"}}"#, #"{"keys":{"a b":"opaque"}}"#, #"{"keys":{"a":"text"}}"#,
                "1",
                #"{"other":{}}"#, "{}",
            ] {
                let body = #"{"bundleID":"\#(test.bundleID)","name":"x","encryptedOnly":\#(form)}"#
                let refused = try await test.ask("POST", "/v1/grants", body: body)
                #expect(refused.status == 400, "\(form) \(refused.text)")
            }
        }
    }

    @Test func `A withdrawn code and a wrong one are refused`() async throws {
        try await TestService.runInMemory { test in
            let invited = try await invite(test)
            let listed = try await test.ask("GET", "/v1/grant-invitations")
            #expect(listed.text.contains(invited.id) && !listed.text.contains(invited.code))
            #expect(try await test.ask("DELETE", "/v1/grant-invitations/\(invited.id)").status == 200)
            #expect(try await test.ask("DELETE", "/v1/grant-invitations/\(invited.id)").status == 404)
            let key = P256.Signing.PrivateKey().publicKey.pemRepresentation
            for code in [invited.code, "NOTACODE"] { #expect(try await ask(test, code: code, key: key).status == 403) }
        }
    }
}

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

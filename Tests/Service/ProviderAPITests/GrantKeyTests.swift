import Crypto
import Foundation
import Management
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// Two keys of a kind, while one replaces the other.
@Suite(.timeLimit(.minutes(2)))
struct GrantKeyTests {
    private func add(
        _ test: TestService,
        _ instance: TestInstance,
        _ key: P256.Signing.PrivateKey,
    ) async throws -> ManagementMessages.GrantKeyMade {
        try await test.administer(
            "POST", "/v1/grants/\(instance.grant)/keys",
            ManagementMessages.NewGrantKey(kind: "provider", publicKey: key.publicKey.pemRepresentation))
    }

    @Test func `Both keys send, on one connection too, and one that has ended is refused at once`() async throws {
        try await TestService.runInMemory { test in
            let (instance, key) = (try await test.makeGrant(), P256.Signing.PrivateKey())
            let handle = try await test.makeHandle(test.makeDeviceToken(), instance.clientKey)
            let made = try await add(test, instance, key)
            #expect(made.kind == "provider" && made.clientKey == nil && made.privateKey == nil)
            let second = instance.provider.with(keyID: made.keyID, key: key)
            let (old, new) = (try await test.connectProvider(), try await test.connectProvider())
            let first = WirePush(token: handle, topic: test.bundleID, authorization: try instance.token())
            let other = WirePush(token: handle, topic: test.bundleID, authorization: try second.token())
            #expect(try await old.send(first).status == 200)
            #expect(try await new.send(other).status == 200)
            #expect(try await old.send(other).status == 200)

            let ended: ManagementMessages.Grant = try await test.administer(
                "DELETE", "/v1/grants/\(instance.grant)/keys/\(instance.provider.keyID)")
            #expect(ended.keyID == made.keyID)
            #expect(ended.keys.map(\.kind) == ["provider", "client"])
            #expect(try await old.send(first).reason == "InvalidProviderToken")
            #expect(try await new.send(other).status == 200)
            await old.close()
            await new.close()
        }
    }

    @Test func `A third key of a kind is 409, the last one cannot end, and a key that has ended stays unusable`()
        async throws
    {
        try await TestService.runInMemory { test in
            let (instance, key) = (try await test.makeGrant(), P256.Signing.PrivateKey())
            let keys = "/v1/grants/\(instance.grant)/keys"
            #expect(try await test.ask("DELETE", "\(keys)/\(instance.provider.keyID)").status == 409)
            let made = try await add(test, instance, key)
            #expect(try await test.ask("POST", keys, body: #"{"kind":"provider"}"#).status == 409)
            #expect(try await test.ask("POST", keys, body: #"{"kind":"client"}"#).status == 200)
            #expect(try await test.ask("POST", keys, body: #"{"kind":"client"}"#).status == 409)
            #expect(try await test.ask("POST", keys, body: #"{"kind":"other"}"#).status == 400)
            #expect(try await test.ask("DELETE", "\(keys)/AAAAAAAAAA").status == 404)
            #expect(
                try await test.grant(instance.grant).keys.map(\.kind) == ["provider", "provider", "client", "client"])
            #expect(try await test.ask("DELETE", "\(keys)/\(made.keyID)").status == 200)
            let again = ManagementMessages.NewGrantKey(kind: "provider", publicKey: key.publicKey.pemRepresentation)
            let refusal = await #expect(throws: TestService.Refusal.self) {
                let _: ManagementMessages.GrantKeyMade = try await test.administer("POST", keys, again)
            }
            #expect(refusal?.status == 409 && refusal?.body.contains("This key was revoked.") == true)
            let own: ManagementMessages.GrantKeyMade = try await test.administer(
                "POST", keys, ManagementMessages.NewGrantKey(kind: "provider"))
            #expect(own.privateKey?.contains("PRIVATE KEY") == true, "The service makes a key if none is given.")
        }
    }

    @Test func `Both client keys make the same handle, and one that has ended none`() async throws {
        try await TestService.runInMemory { test in
            let (instance, token) = (try await test.makeGrant(), try await test.makeDeviceToken())
            let made: ManagementMessages.GrantKeyMade = try await test.administer(
                "POST", "/v1/grants/\(instance.grant)/keys", ManagementMessages.NewGrantKey(kind: "client"))
            let second = try #require(made.clientKey)
            let handle = try await test.makeHandle(token, instance.clientKey)
            #expect(try await test.makeHandle(token, second) == handle)
            let old = try #require(try await test.grant(instance.grant).keys.last { $0.keyID != made.keyID })
            #expect(try await test.ask("DELETE", "/v1/grants/\(instance.grant)/keys/\(old.keyID)").status == 200)
            #expect(try await test.askForHandle(token, instance.clientKey).reason == "Forbidden")
            #expect(try await test.makeHandle(token, second) == handle)
            #expect(try await test.grant(instance.grant).clientKey == second)
        }
    }
}

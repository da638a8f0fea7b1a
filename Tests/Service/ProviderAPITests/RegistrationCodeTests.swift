import Crypto
import Foundation
import Management
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// The registration of a handle with a code of the instance.
@Suite(.timeLimit(.minutes(2)))
struct RegistrationCodeTests {
    private static let token = String(repeating: "5a", count: 32)

    private func run(_ body: (TestService, TestInstance) async throws -> Void) async throws {
        try await TestService.runInMemory { test in
            try await body(test, try await test.makeGrant { $0.registration = "code" })
        }
    }

    @Test func `A code registers one handle, once`() async throws {
        try await run { test, instance in
            let code = try instance.code()
            _ = try await test.makeHandle(Self.token, instance.clientKey, code: code)
            let again = try await test.askForHandle(Self.token, instance.clientKey, code: code)
            #expect(again.status == 403 && again.reason == "Forbidden" && again.body.contains("used before"))
            _ = try await test.makeHandle(Self.token, instance.clientKey, code: try instance.code())
        }
    }

    @Test func `Each key of the grant signs codes, and one that has ended does not`() async throws {
        try await run { test, instance in
            let key = P256.Signing.PrivateKey()
            let made: ManagementMessages.GrantKeyMade = try await test.administer(
                "POST", "/v1/grants/\(instance.grant)/keys",
                ManagementMessages.NewGrantKey(kind: "provider", publicKey: key.publicKey.pemRepresentation))
            let second = { try instance.code(keyID: made.keyID, key: key) }
            _ = try await test.makeHandle(Self.token, instance.clientKey, code: try second())
            _ = try await test.makeHandle(Self.token, instance.clientKey, code: try instance.code())
            #expect(try await test.ask("DELETE", "/v1/grants/\(instance.grant)/keys/\(made.keyID)").status == 200)
            #expect(try await test.askForHandle(Self.token, instance.clientKey, code: try second()).status == 403)
        }
    }

    @Test func `Another code is refused, and the refusal says why`() async throws {
        try await run { test, instance in
            let other = try await test.makeGrant("other") { $0.registration = "code" }
            let wrong: [(code: String?, cause: String)] = [
                (nil, "registration is code"), ("", "JWT"), ("a.b.c", "JWT"),
                (try instance.code(life: 601), "10 minutes"), (try instance.code(life: 0), "expired"),
                (try instance.code(life: -1), "expired"),
                (try instance.code(life: 60, issuedSecondsAgo: 120), "expired"),
                (try instance.code(issuedSecondsAgo: -400), "future"), (try instance.code(""), "jti"),
                (try instance.code(String(repeating: "x", count: 256)), "jti"),
                (try instance.code(teamID: "TEAM000009"), "team"), (try instance.code(keyID: "KEY0000009"), "no key"),
                (try instance.code(key: P256.Signing.PrivateKey()), "signature"), (try other.code(), "no key"),
                (try instance.token(), "exp"),
                (
                    try instance.provider.token(
                        header: #"{"alg":"ES512","kid":"\#(instance.provider.keyID)"}"#), "ES256"
                ),
            ]
            for (code, cause) in wrong {
                let answer = try await test.askForHandle(Self.token, instance.clientKey, code: code)
                #expect(answer.status == 403 && answer.reason == "Forbidden", "\(cause): \(answer.body)")
                #expect(answer.body.contains(cause), "\(cause): \(answer.body)")
            }
            #expect(try await test.grant(instance.grant).handles == 0)
        }
    }

    @Test func `A grant that asks for no code ignores one`() async throws {
        try await TestService.runInMemory { test in
            let instance = try await test.makeGrant()
            _ = try await test.makeHandle(Self.token, instance.clientKey, code: "anything")
        }
    }

    @Test func `A code holds by the instance's clock if the service's was advanced`() async throws {
        try await TestService.run({ $0.clock = .virtual }) { test in
            let instance = try await test.makeGrant { $0.registration = "code" }
            // A time within the second of the advance would count as after it.
            let early = try instance.code(issuedSecondsAgo: 2)
            #expect(try await test.ask("POST", "/v1/clock", body: #"{"advance":"PT1H"}"#).status == 200)
            _ = try await test.makeHandle(Self.token, instance.clientKey, code: try instance.code())
            let answer = try await test.askForHandle(Self.token, instance.clientKey, code: early)
            #expect(answer.status == 403)
        }
    }
}

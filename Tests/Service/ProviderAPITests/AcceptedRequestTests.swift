import Foundation
import Notifications
import Testing

@testable import ServiceTesting

/// Requests that the provider API accepts, and its answers.
@Suite(.gateway, .timeLimit(.minutes(3))) struct AcceptedRequestTests {
    @Test func `In development the answer has no body and a unique identifier`() async throws {
        let situation = try ProviderSituation.current
        let answer = try await situation.send(try situation.push(.development))
        #expect(answer.status == 200)
        #expect(answer.body.isEmpty)
        #expect(Set(answer.headers.keys) == [":status", "apns-id", "apns-unique-id"])
        #expect(try #require(answer["apns-id"]).isCanonicalUUID)
        #expect(try #require(answer["apns-unique-id"]).isCanonicalUUID)
    }

    @Test func `In production the answer has no body and no unique identifier`() async throws {
        let situation = try ProviderSituation.current
        let answer = try await situation.send(try situation.push(.production), to: .production)
        #expect(answer.status == 200)
        #expect(answer.body.isEmpty)
        #expect(Set(answer.headers.keys) == [":status", "apns-id"])
    }

    @Test func `The identifier comes back as it was sent`() async throws {
        let situation = try ProviderSituation.current
        var push = try situation.push(.development)
        push["apns-id"] = "8B1E5B4A-9C0C-4D5E-8F00-0123456789AB"
        #expect(try await situation.send(push)["apns-id"] == "8B1E5B4A-9C0C-4D5E-8F00-0123456789AB")
    }

    /// What real clients send today (docs/current-apns.md; the Guide, Table 8-2).
    @Test(arguments: [
        UnusualRequest("a header that is not listed") { push, _, _ in push["x-trace"] = "1" },
        UnusualRequest("an unlisted header twice") { push, _, _ in
            push.headers += [("x-trace", "1"), ("x-trace", "2")]
        },
        UnusualRequest("apns-expiration", "0"),
        UnusualRequest("apns-expiration", "1"),
        UnusualRequest("apns-expiration", "4102444800"),
        UnusualRequest("apns-priority", "10"),
        UnusualRequest("apns-priority", "5"),
        UnusualRequest("apns-priority", "1"),
        UnusualRequest("apns-collapse-id", String(repeating: "x", count: 64)),
        UnusualRequest("apns-collapse-id", String(repeating: "ä", count: 32)),
        UnusualRequest("apns-push-type", "alert"),
        UnusualRequest("content-encoding", "identity"),
        UnusualRequest("a background notification") { push, _, _ in
            push["apns-push-type"] = "background"
            push["apns-priority"] = "5"
            push.payload(#"{"aps":{"content-available":1}}"#)
        },
        UnusualRequest("content-available alone, without a priority") { push, _, _ in
            push.payload(#"{"aps":{"content-available":1}}"#)
        },
        UnusualRequest(body: "{}"),
        UnusualRequest(body: #"{"mdm":"F8E5B5C6"}"#),
        UnusualRequest(body: " {\n\"aps\" : { \"alert\" : \"\\u00e4\" } }\r\n"),
        UnusualRequest("4,096 bytes") { push, _, _ in push.payload(bytes: 4096) },
        UnusualRequest("5,120 bytes to the VoIP topic") { push, _, _ in
            push["apns-topic"] = ProviderSituation.bundleID + ".voip"
            push["apns-push-type"] = "voip"
            push.payload(bytes: 5120)
        },
        UnusualRequest("a device token in capital letters") { push, situation, environment in
            push.path = "/3/device/" + (try situation.token(environment).uppercased())
        },
        UnusualRequest("Bearer") { push, situation, _ in
            push["authorization"] = "Bearer " + (try situation.provider.token())
        },
        UnusualRequest("base 64 of the standard alphabet, with padding") { push, situation, _ in
            push["authorization"] = "bearer " + (try situation.provider.token(encode: { $0.base64EncodedString() }))
        },
        UnusualRequest("iat as a string") { push, situation, _ in
            let claims = situation.provider.claims(issuedAt: "\"\(Provider.now)\"")
            push["authorization"] = "bearer " + (try situation.provider.token(claims: claims))
        },
        UnusualRequest("iat with a fraction") { push, situation, _ in
            let claims = situation.provider.claims(issuedAt: "\(Provider.now).25")
            push["authorization"] = "bearer " + (try situation.provider.token(claims: claims))
        },
        UnusualRequest("iat in milliseconds") { push, situation, _ in
            let claims = situation.provider.claims(issuedAt: "\(Provider.now)000")
            push["authorization"] = "bearer " + (try situation.provider.token(claims: claims))
        },
        UnusualRequest("a token of almost an hour") { push, situation, _ in
            push["authorization"] = "bearer " + (try situation.provider.token(issuedSecondsAgo: 3300))
        },
        UnusualRequest("a clock that is a minute ahead") { push, situation, _ in
            push["authorization"] = "bearer " + (try situation.provider.token(issuedSecondsAgo: -60))
        },
        UnusualRequest("a key that is good for this environment alone") { push, situation, environment in
            push["authorization"] = "bearer " + (try required(situation.limited[environment]).token())
        },
    ])
    func isAccepted(request: UnusualRequest) async throws {
        let situation = try ProviderSituation.current
        var push = try situation.push(.development)
        try request.change(&push, situation, .development)
        let answer = try await situation.send(push)
        #expect(answer.status == 200, "\(answer.body)")
    }

    /// Each push type with the topic that goes with it (docs/current-apns.md).
    @Test(arguments: [
        ("alert", ""), ("background", ""), ("voip", ".voip"), ("complication", ".complication"),
        ("fileprovider", ".pushkit.fileprovider"), ("location", ".location-query"),
        ("liveactivity", ".push-type.liveactivity"), ("pushtotalk", ".voip-ptt"), ("controls", ".push-type.controls"),
        ("widgets", ".push-type.widgets"),
    ])
    func `A push type goes with its topic`(type: String, suffix: String) async throws {
        let situation = try ProviderSituation.current
        var push = try situation.push(.development)
        push["apns-push-type"] = type
        push["apns-priority"] = "5"
        push["apns-topic"] = ProviderSituation.bundleID + suffix
        let answer = try await situation.send(push)
        #expect(answer.status == 200, "\(answer.body)")
    }

    @Test func `Host in the place of authority is accepted`() async throws {
        let situation = try ProviderSituation.current
        let connection = try await situation.connect()
        #expect(try await connection.send(try situation.push(.development), usesHost: true).status == 200)
        await connection.close()
    }
}

import Delivery
import Foundation
import Management
import NIOHTTP1
import Notifications
import ProviderTesting
import Service
import Testing
import Trust

@testable import ServiceTesting

/// Messages to endpoints of handles.
@Suite(.timeLimit(.minutes(2)))
struct PhoneSendingTests {
    private typealias Script = ScriptedServer.Script

    /// An upstream that answers the same each time.
    private func script(_ status: Int, _ reason: String? = nil) -> Script {
        { request, connection in connection.answer(request.stream, status: status, reason: reason) }
    }

    @Test(arguments: [true, false])
    func `A message goes to the device token behind the endpoint, and 201 means that the upstream took it`(
        _ isHTTP2: Bool
    ) async throws {
        try await PhoneRig.run(isHTTP2: isHTTP2) { rig in
            let made = try await rig.make()
            let answer = try await rig.pushed.send(at: made.endpoint)
            #expect(answer.status == 201 && answer["TTL"] == "60", "\(answer.body)")
            let location = try #require(answer["Location"])
            #expect(location.hasPrefix(rig.pushed.origin + "/wp/m/"))
            #expect(try await rig.pushed.send(.DELETE, at: location, fields: []).status == 404)
            let request = try #require(rig.requests.first)
            #expect(rig.requests.count == 1 && request.path == "/3/device/\(PhoneRig.token)")
            #expect(request.body.contains("AQID"), "The template's usual body is base64url: \(request.body)")
            #expect(try await rig.test.grant(rig.grant).sent == ["200": 1])
            #expect(try await rig.test.grant(rig.grant).today == 1)
            let journal = try await rig.test.manage("GET", "/v1/requests")
            let text = String(decoding: journal.body, as: UTF8.self)
            #expect(text.contains(#""subscription":"mastodon""#) && text.contains(#""bytes":3"#))
            #expect(!text.contains(made.endpoint.suffix(43)) && !text.contains(PhoneRig.token))
        }
    }

    @Test func `The checks are those of a device's subscription, and nothing that they refuse is forwarded`()
        async throws
    {
        try await PhoneRig.run { rig in
            let server = VAPIDFixture()
            let key = server.key
            let made = try await rig.make(vapid: key)
            func status(_ fields: [(String, String)], _ body: [UInt8] = [1]) async throws -> UInt {
                try await rig.pushed.send(at: made.endpoint, fields: fields, body: body).status
            }
            let field = try rig.pushed.authorization(server)
            #expect(try await status(PushedService.fields) == 401)
            #expect(try await status(PushedService.fields + [try rig.pushed.authorization(VAPIDFixture())]) == 403)
            #expect(try await status([field]) == 400)
            #expect(try await status([("TTL", "1"), field]) == 415)
            #expect(try await status(PushedService.fields + [field], .init(repeating: 1, count: 4097)) == 413)
            #expect(rig.requests.isEmpty)
            #expect(try await status(PushedService.fields + [field]) == 201)
            // The same name without a key lifts it.
            #expect(try await rig.make().endpoint == made.endpoint)
            #expect(try await status(PushedService.fields) == 201)
            #expect(rig.requests.count == 2)
        }
    }

    @Test(arguments: [(410, "Unregistered"), (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic")])
    func `A device token that the upstream does not know ends the endpoint`(
        _ status: Int, _ reason: String
    ) async throws {
        try await PhoneRig.run(script: script(status, reason)) { rig in
            let (made, other) = (try await rig.make(), try await rig.make("other"))
            #expect(try await rig.pushed.send(at: made.endpoint).status == 404)
            #expect(try await rig.pushed.send(at: made.endpoint).status == 404)
            #expect(rig.requests.count == 1)
            // 410 ends the handle too. After the others, which a wrong setting may cause, the upstream is asked again.
            #expect(try await rig.pushed.send(at: other.endpoint).status == 404)
            #expect(rig.requests.count == (status == 410 ? 1 : 2))
            #expect(try await rig.make().endpoint != made.endpoint)
        }
    }

    @Test(arguments: [
        (429, "TooManyRequests", 429), (503, "ServiceUnavailable", 503), (500, "InternalServerError", 503),
        (403, "InvalidProviderToken", 503), (403, "ExpiredProviderToken", 503), (413, "PayloadTooLarge", 503),
        (400, "TopicDisallowed", 503), (400, "BadCollapseId", 503), (404, "BadPath", 503),
    ])
    func `No other answer of the upstream makes a sender forget the endpoint`(
        _ status: Int, _ reason: String, _ expected: UInt
    ) async throws {
        try await PhoneRig.run(script: script(status, reason)) { rig in
            let made = try await rig.make()
            let answer = try await rig.pushed.send(at: made.endpoint)
            #expect(answer.status == expected, "\(answer.body)")
            #expect(answer["Retry-After"] != nil || expected == 503)
            #expect(try await rig.pushed.send(.GET, at: made.endpoint, fields: []).status == 200)
            let sent = try await rig.test.grant(rig.grant).sent
            #expect(sent == [expected == 429 ? "TooManyRequests" : "ServiceUnavailable": 1])
        }
    }

    /// The service waits for nobody so long, so neither does it tell a sender to.
    @Test(arguments: [(503, 7, "7"), (503, 1_000_000, "3600"), (503, 0, "1"), (429, 7, "7"), (429, 1_000_000, "3600")])
    func `The upstream's Retry-After is passed on, an hour at most`(
        _ status: Int, _ seconds: Int, _ expected: String
    ) async throws {
        let script: Script = { request, connection in
            connection.answer(
                request.stream, status: status, retryAfter: seconds,
                body: #"{"reason":"\#(status == 429 ? "TooManyRequests" : "ServiceUnavailable")"}"#)
        }
        try await PhoneRig.run(script: script) { rig in
            let made = try await rig.make()
            let answer = try await rig.pushed.send(at: made.endpoint)
            #expect(answer.status == UInt(status) && answer["Retry-After"] == expected, "\(answer.body)")
        }
    }

    @Test(arguments: [(200, nil, "pending"), (410, "Unregistered", "rejected")])
    func `An answer of a rehearsal does not hide whether the upstream has accepted the message`(
        _ status: Int, _ reason: String?, _ outcome: String
    ) async throws {
        try await PhoneRig.run(script: script(status, reason)) { rig in
            let made = try await rig.make()
            let rules = #"{"rules":[{"fault":{"answer":{"reason":"InternalServerError"},"accepted":true}}]}"#
            #expect(try await rig.test.manage("POST", "/v1/rehearsals", Data(rules.utf8)).status == 200)
            #expect(try await rig.pushed.send(at: made.endpoint).status == 500)
            #expect(rig.requests.count == 1)
            let entry = try #require(try await rig.pushed.journal("protocol=webpush").first)
            #expect(entry["outcome"]?.string == outcome && entry["status"] == .integer(500), "\(entry)")
            #expect(entry["forwarded"] == .bool(true))
        }
    }

    @Test(arguments: [1, 2900, 2960, 4096])
    func `A phone gets the body in the notification, or at the URL that stands in its place`(
        _ count: Int
    ) async throws {
        try await PhoneRig.run { rig in
            let made = try await rig.make()
            let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 31) }
            #expect(try await rig.pushed.send(at: made.endpoint, body: body).status == 201)
            let payload = try #require(rig.requests.first).body
            #expect(payload.utf8.count <= 4096)
            let text = String(decoding: Base64URL.encoded(body), as: UTF8.self)
            guard !payload.contains(text) else { return #expect(count < 2960) }
            #expect(count > 2900)
            let urls = payload.replacing(#"\/"#, with: "/").split(separator: "\"").filter { $0.contains("/wp/f/") }
            let url = try #require(urls.first)
            #expect(try await rig.pushed.fetch(String(url.dropFirst(rig.pushed.origin.count))).1 == body)
        }
    }

    @Test func `A suspended grant is 429, and a revoked one 404`() async throws {
        try await PhoneRig.run { rig in
            let made = try await rig.make()
            _ = try await rig.test.change(rig.grant, #"{"suspended":true}"#)
            let suspended = try await rig.pushed.send(at: made.endpoint)
            #expect(suspended.status == 429 && suspended["Retry-After"] == "3600")
            _ = try await rig.test.change(rig.grant, #"{"suspended":false}"#)
            #expect(try await rig.pushed.send(at: made.endpoint).status == 201)
            #expect(try await rig.test.ask("DELETE", "/v1/grants/\(rig.grant)").status == 200)
            #expect(try await rig.pushed.send(at: made.endpoint).status == 404)
            #expect(try await rig.pushed.send(.GET, at: made.endpoint, fields: []).status == 404)
            #expect(rig.requests.count == 1)
        }
    }

    @Test func `The grant's rate and its number of a day are 429`() async throws {
        try await PhoneRig.run(limit: { ($0.rate, $0.burst) = (1, 1) }) { rig in
            let made = try await rig.make()
            var answers: [PushedService.Answer] = []
            for _ in 0..<10 { answers.append(try await rig.pushed.send(at: made.endpoint)) }
            #expect(answers[0].status == 201)
            let refused = try #require(answers.first { $0.status == 429 })
            #expect(refused["Retry-After"] == "1")
        }
        try await PhoneRig.run(limit: { $0.daily = 1 }) { rig in
            let made = try await rig.make()
            #expect(try await rig.pushed.send(at: made.endpoint).status == 201)
            let refused = try await rig.pushed.send(at: made.endpoint)
            #expect(refused.status == 429 && (refused["Retry-After"].flatMap { Int($0) } ?? 0) > 0)
            #expect(try await rig.test.grant(rig.grant).sent == ["200": 1, "TooManyRequests": 1])
        }
    }

    @Test func `What the other limits of a grant refuse is not the sender's fault`() async throws {
        try await PhoneRig.run(limit: { $0.priorities = [5] }) { rig in
            let made = try await rig.make()
            let refused = try await rig.pushed.send(at: made.endpoint)
            #expect(refused.status == 503 && refused.body.contains("priorities"))
            let low = try await rig.pushed.send(
                at: made.endpoint, fields: PushedService.fields + [("Urgency", "low")])
            #expect(low.status == 201)
        }
        try await PhoneRig.run(limit: { $0.pushTypes = ["background"] }) { rig in
            let made = try await rig.make()
            #expect(try await rig.pushed.send(at: made.endpoint).status == 503)
            #expect(rig.requests.isEmpty)
        }
    }

    @Test func `An ended handle is 404, and its endpoints do not come back with it`() async throws {
        try await PhoneRig.run(settings: { $0.clock = .virtual }) { rig in
            let made = try await rig.make()
            _ = try await rig.test.ask("POST", "/v1/clock", body: #"{"advance":"P181D"}"#)
            #expect(try await rig.pushed.send(at: made.endpoint).status == 404)
            let again = try await rig.make()
            #expect(again.handle == made.handle && again.endpoint != made.endpoint)
            #expect(try await rig.pushed.send(at: made.endpoint).status == 404)
            #expect(try await rig.pushed.send(at: again.endpoint).status == 201)
        }
    }
}

import CommonTesting
import Foundation
import Notifications
import Testing

@testable import ServiceTesting

/// Faults of rehearsals in requests of Web Push.
@Suite(.timeLimit(.minutes(2)))
struct WebPushRehearsalTests {
    private static let subscriptions = #""subscriptions":[{"name":"a"},{"name":"b"}]"#

    /// Begins a rehearsal with one rule.
    private func rehearse(_ service: PushedService, _ rule: String) async throws -> (status: Int, text: String) {
        let answer = try await service.test.manage("POST", "/v1/rehearsals", Data(#"{"rules":[{\#(rule)}]}"#.utf8))
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    @Test(
        arguments: [
            ("TooManyRequests", UInt(429)), ("ServiceUnavailable", 503), ("BadPath", 404), ("Unregistered", 410),
            ("PayloadTooLarge", 413), ("InternalServerError", 500), ("Forbidden", 403),
        ])
    func `An answer has the status of its reason, and nothing is delivered`(
        _ reason: String, _ status: UInt
    ) async throws {
        try await PushedService.run { service in
            let subscriptions = try await service.subscriptions(Self.subscriptions)
            let began = try await rehearse(
                service,
                #""name":"busy","match":{"protocol":"webpush","subscription":"a"},"when":{"first":1},"#
                    + #""fault":{"answer":{"reason":"\#(reason)","retryAfter":7}}"#)
            #expect(began.status == 200, "\(began.text)")
            #expect(try await service.send("x", to: subscriptions[1]).status == 201, "another subscription")
            let answer = try await service.send("x", to: subscriptions[0])
            #expect(answer.status == status && answer["Retry-After"] == "7")
            #expect(answer["content-type"] == "application/problem+json")
            #expect(try await service.send("x", to: subscriptions[0]).status == 201, "the second")
            let entry = try #require(try await service.journal("subscription=a").first)
            #expect(entry["status"] == .integer(Int64(status)) && entry["outcome"]?.string == "rejected")
            #expect(entry["rule"]?.string == "busy")
        }
    }

    @Test func `Matches by text, device and topic select messages`() async throws {
        try await PushedService.run { service in
            let subscription = try #require(try await service.subscriptions(Self.subscriptions).first)
            let fault = #""fault":{"answer":{"reason":"ServiceUnavailable"}}"#
            _ = try await rehearse(
                service, #""match":{"text":"bad","topic":"com.example.shop","status":201},\#(fault)"#)
            #expect(try await service.send("good", to: subscription).status == 201)
            #expect(try await service.send("bad", to: subscription).status == 503)
            // A request that is refused anyway has another status.
            #expect(try await service.send("bad", to: subscription, fields: []).status == 400)
        }
    }

    /// What Web Push answers, and no reason of the table has.
    @Test(arguments: [(401, UInt(401)), (415, 415)])
    func `A rule matches the statuses that Web Push alone has`(_ status: Int, _ answered: UInt) async throws {
        try await PushedService.run { service in
            let owner = VAPIDFixture()
            let subscription = try #require(
                try await service.subscriptions(#""subscriptions":[{"name":"a","vapid":"\#(owner.key)"}]"#).first)
            let began = try await rehearse(
                service, #""match":{"status":\#(status)},"when":{"first":1},"fault":{"answer":{"reason":"BadPath"}}"#)
            #expect(began.status == 200, "\(began.text)")
            func send() async throws -> UInt {
                let token = status == 401 ? [] : [try service.authorization(owner)]
                let coding = status == 415 ? [] : [("Content-Encoding", "aes128gcm")]
                return try await service.send(at: subscription.endpoint, fields: [("TTL", "60")] + coding + token)
                    .status
            }
            #expect(
                try await service.send(
                    "x", to: subscription, fields: [("TTL", "60"), try service.authorization(owner)]
                ).status == 201)
            #expect(try await send() == 404)
            #expect(try await send() == answered)
        }
    }

    @Test(arguments: [
        #""refuse":true"#, #""certificate":"expired""#, #""tls":{"versions":["1.2"]}"#, #""handshake":"reset""#,
    ])
    func `A fault of connections leaves those to Web Push alone`(_ fault: String) async throws {
        try await PushedService.run { service in
            let subscription = try #require(try await service.subscriptions(Self.subscriptions).first)
            let began = try await rehearse(service, #""fault":{\#(fault)}"#)
            #expect(began.status == 200, "\(began.text)")
            #expect(try await service.send("x", to: subscription).status == 201)
            let refused = try await rehearse(service, #""match":{"protocol":"webpush"},"fault":{\#(fault)}"#)
            #expect(refused.status == 400 && refused.text.contains("/rules/0/match/protocol"), "\(refused.text)")
        }
    }

    @Test func `A message that is accepted may be answered otherwise, and it is delivered`() async throws {
        try await PushedService.run { service in
            let subscription = try #require(try await service.subscriptions(Self.subscriptions).first)
            _ = try await rehearse(
                service, #""fault":{"answer":{"reason":"ServiceUnavailable"},"accepted":true}"#)
            #expect(try await service.send("x", to: subscription).status == 503)
            let wait = Data(#"{"match":{"outcome":"delivered","status":503}}"#.utf8)
            #expect(try await service.test.manage("POST", "/v1/requests/wait", wait).status == 200)
        }
    }

    @Test func `A message that is lost is 201, and comes to nobody`() async throws {
        try await PushedService.run { service in
            let subscription = try #require(try await service.subscriptions(Self.subscriptions).first)
            _ = try await rehearse(service, #""fault":{"lose":true}"#)
            let answer = try await service.send("x", to: subscription)
            #expect(answer.status == 201 && answer["Location"] != nil)
            #expect(try await service.journal("text=x").first?["outcome"]?.string == "lost")
            // What is refused cannot be lost.
            #expect(try await service.send("x", to: subscription, fields: []).status == 400)
        }
    }

    @Test func `A message that is duplicated is delivered twice to a device that is online`() async throws {
        try await PushedService.run { service in
            let subscription = try #require(try await service.subscriptions(Self.subscriptions).first)
            _ = try await rehearse(service, #""fault":{"duplicate":2}"#)
            #expect(try await service.send("x", to: subscription).status == 201)
            let id = try #require(try await service.journal("text=x").first?["apnsID"]?.string)
            func acknowledged() async throws -> Int {
                let log = try await service.test.manage("GET", "/v1/log?id=\(id)").body
                return String(decoding: log, as: UTF8.self).split(separator: #""event":"acknowledged""#).count - 1
            }
            try await wait(while: try await acknowledged() < 2)
        }
    }

    @Test(arguments: [true, false], ["fin", "rst"])
    func `A connection is closed in place of an answer, and the next one works`(
        _ isHTTP2: Bool, _ kind: String
    ) async throws {
        try await PushedService.run(isHTTP2: isHTTP2) { service in
            let subscription = try #require(try await service.subscriptions(Self.subscriptions).first)
            _ = try await rehearse(service, #""when":{"first":1},"fault":{"close":"\#(kind)"}"#)
            await #expect(throws: (any Error).self) { try await service.send("x", to: subscription) }
            // The client may give the next request to the old connection until it has seen its end.
            try await wait(while: (try? await service.send("y", to: subscription).status) != 201)
            let entry = try #require(try await service.journal("text=x").first)
            #expect(entry["status"] == nil && entry["outcome"]?.string == "dropped", "\(entry)")
        }
    }

    @Test(arguments: [true, false])
    func `A delayed answer comes, and a request that hangs ends with the service`(_ isHTTP2: Bool) async throws {
        try await PushedService.run(isHTTP2: isHTTP2) { service in
            let subscription = try #require(try await service.subscriptions(Self.subscriptions).first)
            _ = try await rehearse(service, #""match":{"text":"late"},"fault":{"delay":"PT0.2S"}"#)
            _ = try await rehearse(service, #""match":{"text":"hang"},"fault":{"hang":true}"#)
            #expect(try await service.send("late", to: subscription).status == 201)
            let hanging = Task { try await service.send("hang", to: subscription) }
            let wait = Data(#"{"match":{"text":"hang","outcome":"dropped"}}"#.utf8)
            _ = try await service.test.manage("POST", "/v1/requests/wait", wait)
            #expect(try await service.send("other", to: subscription).status == 201)
            hanging.cancel()
            _ = await hanging.result
        }
    }

    @Test(
        arguments: [
            (#""match":{"protocol":"webpush"},"fault":{"reset":"CANCEL"}"#, "/protocol"),
            (#""match":{"protocol":"webpush"},"fault":{"goAway":{}}"#, "/protocol"),
            (#""match":{"protocol":"webpush"},"fault":{"refuse":true}"#, "/protocol"),
            (#""match":{"protocol":"webpush"},"fault":{"certificate":"expired"}"#, "/protocol"),
            (#""match":{"subscription":"a"},"fault":{"reset":"CANCEL"}"#, "/subscription"),
            (#""match":{"protocol":"h2","text":"a"},"fault":{"hang":true}"#, "/text"),
            (#""match":{"protocol":"webpush","token":"00"},"fault":{"hang":true}"#, "/token"),
            (#""match":{"protocol":"webpush","reason":"BadPath"},"fault":{"hang":true}"#, "/reason"),
            (#""match":{"protocol":"webpush","status":404},"fault":{"hang":true}"#, "/status"),
            (#""match":{"subscription":"a","outcome":"delivered"},"fault":{"hang":true}"#, "/outcome"),
        ])
    func `A rule that could never fire is refused`(_ rule: String, _ pointer: String) async throws {
        try await PushedService.run { service in
            let answer = try await rehearse(service, rule)
            #expect(answer.status == 400 && answer.text.contains("/rules/0/match\(pointer)"), "\(answer.text)")
        }
    }
}

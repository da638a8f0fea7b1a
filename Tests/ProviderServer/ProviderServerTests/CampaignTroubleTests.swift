import Foundation
import NIOHTTP1
import Notifications
import Service
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// Campaigns while rehearsals make trouble at Carillon (docs/testing.md): nobody is lost, and every repetition has the
/// `apns-id` of the first attempt.
@Suite(.timeLimit(.minutes(5))) struct CampaignTroubleTests {
    /// A clock whose waits are short, so that the growing delays between the passes take no time.
    static let impatient = ProviderClock(now: ProviderClock.system.now) { duration in
        await ProviderClock.system.sleep(min(duration, .milliseconds(20)))
    }

    /// A request that Carillon has got.
    private struct Attempt {
        let token: String
        let id: String
        let status: Int64?
        let rule: String?
    }

    private static func attempts(_ shop: TestShop) async throws -> [Attempt] {
        let answer = try await shop.carillon.ask("GET", "/v1/requests?limit=1000")
        guard case .array(let items) = try JSONDecoder().decode(JSONValue.self, from: answer.body) else { return [] }
        return items.compactMap { item in
            guard case .object(let members) = item, case .string(let token)? = members["token"] else { return nil }
            let headers: JSONMembers = if case .object(let headers)? = members["headers"] { headers } else { [:] }
            func text(_ value: JSONValue?) -> String? { if case .string(let text)? = value { text } else { nil } }
            let status: Int64? = if case .integer(let status)? = members["status"] { status } else { nil }
            return Attempt(
                token: token, id: text(headers["apns-id"]) ?? "", status: status, rule: text(members["rule"]))
        }
    }

    /// Begins a rehearsal that is over when the service ends.
    private static func rehearse(_ shop: TestShop, _ rules: String) async throws {
        let answer = try await shop.carillon.ask("POST", "/v1/rehearsals", body: #"{"seed":7,"rules":[\#(rules)]}"#)
        try #require(answer.status == 200, "\(answer.text)")
    }

    /// Trouble that passes: in the end everybody is accepted.
    private static let passing: [(name: String, rules: String)] = [
        ("busy servers", #"{"name":"t","when":{"share":0.1},"fault":{"answer":{"reason":"ServiceUnavailable"}}}"#),
        ("failing servers", #"{"name":"t","when":{"share":0.1},"fault":{"answer":{"reason":"InternalServerError"}}}"#),
        ("a rolling restart", #"{"name":"t","when":{"every":10},"fault":{"goAway":{"reason":"Shutdown","after":3}}}"#),
        ("refused streams", #"{"name":"t","when":{"every":7},"fault":{"reset":"REFUSED_STREAM"}}"#),
        ("streams that fail", #"{"name":"t","when":{"every":9},"fault":{"reset":"INTERNAL_ERROR"}}"#),
        ("connections that are cut", #"{"name":"t","when":{"first":3},"fault":{"close":"rst"}}"#),
        (
            "answers that are lost",
            #"{"name":"t","when":{"first":3},"fault":{"close":"rst","accepted":true}}"#
        ),
        ("answers that do not come", #"{"name":"t","when":{"first":3},"fault":{"hang":true}}"#),
        (
            "a bit of everything",
            #"{"name":"t","when":{"every":11},"fault":{"answer":{"reason":"ServiceUnavailable"}}},"#
                + #"{"when":{"every":13},"fault":{"goAway":{"reason":"Shutdown"}}},"#
                + #"{"when":{"first":3},"fault":{"close":"rst","accepted":true}}"#
        ),
    ]

    @Test(arguments: passing.indices)
    func `Everybody gets the message, with one apns-id for all attempts`(_ index: Int) async throws {
        let (name, rules) = Self.passing[index]
        let count = 60
        try await TestShop.run(devices: Array(repeating: nil, count: count)) {
            $0.deadline = .seconds(2)
            $0.clock = Self.impatient
        } _: { shop in
            try await shop.register()
            try await Self.rehearse(shop, rules)
            let message = try await shop.provider.finished(try await shop.send())
            #expect(message["state"] == "finished" && message["accepted"] == .integer(Int64(count)), "\(name)")
            #expect(message["failed"] == 0, "\(name): \(message.body.text)")
            let attempts = try await Self.attempts(shop)
            #expect(attempts.contains { $0.rule == "t" }, "\(name)")
            for token in shop.tokens {
                let own = attempts.filter { $0.token == token }
                #expect(own.contains { $0.status == 200 } && Set(own.map(\.id)).count == 1, "\(name): \(own)")
            }
            #expect(!attempts.contains { $0.id.isEmpty }, "\(name)")
        }
    }

    @Test(arguments: ["answer", "hang"])
    func `A recipient whose notification always fails does not keep the message from ending`(
        _ fault: String
    )
        async throws
    {
        try await TestShop.run(devices: [nil, nil, nil]) {
            $0.deadline = .seconds(1)
            $0.clock = Self.impatient
        } _: { shop in
            try await shop.register()
            let value = fault == "answer" ? #"{"answer":{"reason":"InternalServerError"}}"# : #"{"hang":true}"#
            try await Self.rehearse(shop, #"{"match":{"token":"\#(shop.tokens[1])"},"fault":\#(value)}"#)
            let message = try await shop.provider.finished(try await shop.send())
            #expect(message["state"] == "finished" && message["accepted"] == 2, "\(message.body.text)")
            #expect(message["failed"] == 1, "\(message.body.text)")
            let attempts = try await Self.attempts(shop)
            for token in shop.tokens { #expect(Set(attempts.filter { $0.token == token }.map(\.id)).count == 1) }
            // The others got it once.
            for token in [shop.tokens[0], shop.tokens[2]] { #expect(attempts.count { $0.token == token } == 1) }
        }
    }

    @Test func `A notification that makes the service end the connection fails alone`() async throws {
        let count = 30
        try await TestShop.run(devices: Array(repeating: nil, count: count)) {
            $0.deadline = .seconds(2)
            $0.clock = Self.impatient
        } _: { shop in
            try await shop.register()
            try await Self.rehearse(shop, #"{"match":{"token":"\#(shop.tokens[7])"},"fault":{"close":"rst"}}"#)
            let message = try await shop.provider.finished(try await shop.send())
            #expect(message["accepted"] == .integer(Int64(count - 1)), "\(message.body.text)")
            #expect(message["failed"] == 1, "\(message.body.text)")
        }
    }

    @Test func `A wave of 410s ends the installations that it is about, and no others`() async throws {
        let count = 40
        try await TestShop.run(devices: Array(repeating: nil, count: count)) {
            $0.clock = Self.impatient
        } _: { shop in
            try await shop.register()
            try await Self.rehearse(
                shop, #"{"name":"t","when":{"share":0.5},"fault":{"answer":{"reason":"Unregistered"}}}"#)
            let message = try await shop.provider.finished(try await shop.send())
            let gone = Set(try await Self.attempts(shop).filter { $0.rule == "t" }.map(\.token))
            #expect(!gone.isEmpty && gone.count < count)
            #expect(message["accepted"] == .integer(Int64(count - gone.count)), "\(message.body.text)")
            #expect(message["failedByReason"] == ["Unregistered": .integer(Int64(gone.count))])
            for (index, token) in shop.tokens.enumerated() {
                let shown = try await shop.provider.ask(.GET, "/v1/installations/i\(index)", key: shop.serverKey)
                #expect(shown["ended", "reason"] == (gone.contains(token) ? "Unregistered" : nil))
            }
            let dryRun = try await shop.provider.ask(
                .POST, "/v1/messages",
                #"{"dryRun":true,"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}}}"#,
                key: shop.serverKey)
            #expect(dryRun["recipients"] == .integer(Int64(count - gone.count)))
        }
    }

    @Test func `A development server that cannot be reached does not keep the message from production`() async throws {
        try await TestService.runInMemory { carillon in
            let (text, tokens) = try await TestShop.makeFixture(carillon, [nil, nil])
            guard case .object(var app) = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)),
                case .object(var environments)? = app["environments"],
                case .object(var development)? = environments["development"]
            else { return try #require(Bool(false)) }
            environments["production"] = .object(development)
            // Nothing listens on the discard port.
            development["url"] = "https://127.0.0.1:9"
            environments["development"] = .object(development)
            app["environments"] = .object(environments)
            let document = JSONValue.object(app).text
            try await TestProvider.run {
                $0.deadline = .seconds(1)
                $0.clock = Self.impatient
            } _: { provider in
                let made = try await provider.ask(.PUT, "/v1/apps/\(TestShop.bundleID)", document)
                let key = try made.text("serverKey")
                for (token, environment) in zip(tokens, ["development", "production"]) {
                    let answer = try await provider.ask(
                        .PUT, "/v1/installations/\(environment)",
                        #"{"deviceToken":"\#(token)","environment":"\#(environment)"}"#, key: key)
                    try #require(answer.status == 200, "\(answer.body.text)")
                }
                let sent = try await provider.ask(
                    .POST, "/v1/messages", #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}}}"#, key: key
                )
                let id = try sent.text("id")
                let waiting = try await provider.message(id) { $0["accepted"] == 1 && $0["cause"] != nil }
                #expect(waiting["state"] == "running" && waiting["failed"] == 0)
                let outcomes = try await provider.ask(.GET, "/v1/messages/\(id)/outcomes", key: key)
                #expect(outcomes["items", "0", "installation"] == "production" && outcomes["items", "1"] == nil)
            }
        }
    }
}

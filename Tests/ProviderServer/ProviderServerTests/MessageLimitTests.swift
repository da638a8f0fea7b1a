import Foundation
import HTTPAPI
import NIOHTTP1
import Notifications
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// The limits of messages, and messages that fail for some recipients, over the wire.
@Suite(.timeLimit(.minutes(3))) struct MessageLimitTests {
    /// Asks for a dry run, which checks everything and sends nothing.
    private static func ask(
        _ shop: TestShop, _ more: String, audience: String = #"{"everybody":true}"#
    ) async throws
        -> TestProvider.Answer
    {
        try await shop.provider.ask(
            .POST, "/v1/messages",
            #"{"dryRun":true,"audience":\#(audience),"payload":{"aps":{"alert":"x"}}\#(more)}"#, key: shop.serverKey)
    }

    private static func members(_ count: Int, _ value: String) -> String {
        (0..<count).map { #""n\#($0)":\#(value)"# }.joined(separator: ",")
    }

    private static func texts(_ count: Int) -> String {
        #","texts":{\#(members(count, #"{"a":"b"}"#))},"fallbackLanguage":"n0""#
    }

    @Test func `Sizes and numbers of a message are limited`() async throws {
        typealias Limits = ProviderServerLimits
        func text(_ count: Int) -> String { String(repeating: "a", count: count) }
        let cases: [(allowed: String, tooMuch: String, pointer: String)] = [
            (Self.texts(Limits.textLanguages), Self.texts(Limits.textLanguages + 1), "/texts"),
            (#","rate":\#(Limits.rate)"#, #","rate":\#(Limits.rate + 1)"#, "/rate"),
            (
                #","values":{\#(Self.members(Limits.values, "1"))}"#,
                #","values":{\#(Self.members(Limits.values + 1, "1"))}"#, "/values"
            ),
            (
                #","values":{"a":"\#(text(Limits.valueBytes))"}"#,
                #","values":{"a":"\#(text(Limits.valueBytes + 1))"}"#, "/values/a"
            ),
            (#","collapseID":"\#(text(64))""#, #","collapseID":"\#(text(65))""#, "/collapseID"),
        ]
        try await TestShop.run(devices: []) { shop in
            for (allowed, tooMuch, pointer) in cases {
                let good = try await Self.ask(shop, allowed)
                #expect(good.status == 200, "\(pointer): \(good.body.text)")
                let bad = try await Self.ask(shop, tooMuch)
                #expect(bad.status == 400 && bad.pointer == pointer, "\(pointer): \(bad.body.text)")
            }
            for (count, status) in [(Limits.namedRecipients, 200), (Limits.namedRecipients + 1, 400)] {
                let list = (0..<count).map { "\"u\($0)\"" }.joined(separator: ",")
                let audience = #"{"users":[\#(list)]}"#
                let answer = try await Self.ask(shop, "", audience: audience)
                #expect(answer.status == status && (status == 200 || answer.pointer == "/audience/users"))
            }
            #expect(try await Self.ask(shop, String(repeating: " ", count: Limits.bodyBytes)).status == 413)
            // Pages of lists.
            for (limit, status) in [
                ("0", 400), ("\(APILimits.listItems)", 200), ("\(APILimits.listItems + 1)", 400), ("x", 400),
            ] {
                let list = try await shop.provider.ask(.GET, "/v1/messages?limit=\(limit)", key: shop.serverKey)
                #expect(list.status == status, "\(limit)")
            }
            let address = "https://example.com/" + text(Limits.hookURLBytes)
            let hook = try await shop.provider.ask(.POST, "/v1/hooks", #"{"url":"\#(address)"}"#, key: shop.serverKey)
            #expect(hook.status == 400 && hook.pointer == "/url")
        }
    }

    @Test func `A list of messages is complete and in order, although few are read at once`() async throws {
        try await TestShop.run(devices: []) { shop in
            let later = ProviderClock.system.now().advanced(by: .seconds(86_400)).text
            var sent: [String] = []
            let count = ProviderServerLimits.messagesRead * 2 + 1
            for _ in 0..<count { sent.append(try await shop.send(#","sendAt":"\#(later)""#)) }
            for limit in [1_000, count, ProviderServerLimits.messagesRead, ProviderServerLimits.messagesRead + 1, 1] {
                var (listed, after): ([JSONValue], String?) = ([], "")
                while let place = after {
                    let page = try await shop.provider.ask(
                        .GET, "/v1/messages?limit=\(limit)" + place, key: shop.serverKey)
                    guard case .array(let items)? = page["items"] else { break }
                    #expect(items.count <= limit)
                    for case .object(let item) in items { if let id = item["id"] { listed.append(id) } }
                    if case .string(let next)? = page["next"] { after = "&after=\(next)" } else { after = nil }
                }
                #expect(listed == sent.reversed().map(JSONValue.string))
            }
        }
    }

    @Test func `An integer may be written with a decimal point`() async throws {
        try await TestShop.run(devices: []) { shop in
            let answer = try await Self.ask(shop, #","priority":5.0,"expiration":0.0,"rate":7.0"#)
            #expect(answer.status == 200, "\(answer.body.text)")
        }
    }

    @Test func `A message that must fail for everybody is refused`() async throws {
        try await TestShop.run(devices: []) { shop in
            let faults = [
                (#","topic":"com.example.other""#, "/topic"), (#","topic":"com.example.shopper""#, "/topic"),
                (#","topic":"com.example.shop.pro""#, "/topic"),
                (#","pushType":"background""#, "/payload"),
                (#","pushType":"voip","topic":"com.example.shop""#, "/topic"),
            ]
            for (fault, place) in faults {
                let answer = try await Self.ask(shop, fault)
                #expect(answer.status == 400 && answer.pointer == place, "\(answer.body.text)")
            }
            for fine in [#","topic":"com.example.shop.voip","pushType":"voip""#, #","topic":"com.example.shop""#] {
                #expect(try await Self.ask(shop, fine).status == 200)
            }
        }
    }

    @Test func `Every header of a message arrives`() async throws {
        try await TestShop.run(devices: [nil]) { shop in
            try await shop.register()
            let expiration = Int(Date().timeIntervalSince1970) + 3_600
            let headers = #""topic":"com.example.shop","pushType":"alert","priority":5,"collapseID":"c1""#
            let id = try await shop.send(#",\#(headers),"expiration":\#(expiration)"#)
            #expect(try await shop.provider.finished(id)["accepted"] == 1)
            let outcome = try await shop.provider.ask(.GET, "/v1/messages/\(id)/outcomes", key: shop.serverKey)
            let answer = try await shop.carillon.ask("GET", "/v1/requests")
            let requests = try JSONDecoder().decode(JSONValue.self, from: answer.body)
            guard case .array(let items) = requests, case .object(let request)? = items.first,
                case .object(let headers)? = request["headers"]
            else {
                Issue.record("\(requests.text)")
                return
            }
            #expect(headers["apns-topic"] == "com.example.shop" && headers["apns-push-type"] == "alert")
            #expect(headers["apns-priority"] == "5" && headers["apns-collapse-id"] == "c1")
            #expect(headers["apns-expiration"] == .string("\(expiration)"))
            #expect(headers["apns-id"] == outcome["items", "0", "apnsID"])
        }
    }

    @Test func `A payload that is too large for one recipient fails for this one`() async throws {
        try await TestShop.run(devices: [nil, nil, nil]) { shop in
            let long = String(repeating: "a", count: ProviderServerLimits.valueBytes)
            try await shop.register { [#","values":{"v":"a"}"#, #","values":{"v":"\#(long)"}"#, ""][$0] }
            let alert = String(repeating: "{{v}}", count: 20)
            let id = try await shop.send(payload: #"{"aps":{"alert":"\#(alert)"}}"#)
            let message = try await shop.provider.finished(id)
            #expect(message["accepted"] == 1)
            #expect(message["failedByReason"] == ["badNotification": 1, "MissingValue: v": 1], "\(message.body.text)")
            // The dry run shows the fault.
            let run = try await shop.provider.ask(
                .POST, "/v1/messages",
                #"{"dryRun":true,"audience":{"everybody":true},"payload":{"aps":{"alert":"\#(alert)"}}}"#,
                key: shop.serverKey)
            #expect(run["samples", "0", "fault"] == nil && run["samples", "1", "fault"] != nil)
        }
    }

    @Test func `A template that would make gigabytes fails at once, and only for those who have the values`()
        async throws
    {
        try await TestShop.run(devices: [nil, nil]) { shop in
            let long = String(repeating: "a", count: ProviderServerLimits.valueBytes)
            try await shop.register { [#","values":{"v":"\#(long)"}"#, #","values":{"v":""}"#][$0] }
            // The payload names a text 10,000 times, and the text names a value 1,000 times: 2.5 GB.
            let text = String(repeating: "{{v}}", count: 1_000)
            let list = Array(repeating: #""{{t}}""#, count: 6_000).joined(separator: ",")
            for payload in [
                #"{"aps":{"alert":"\#(String(repeating: "{{t}}", count: 10_000))"}}"#,
                #"{"aps":{"alert":"x"},"list":[\#(list)]}"#,
            ] {
                let run = try await shop.provider.ask(
                    .POST, "/v1/messages",
                    #"{"dryRun":true,"audience":{"everybody":true},"payload":\#(payload)"#
                        + #","texts":{"en":{"t":"\#(text)"}},"fallbackLanguage":"en"}"#, key: shop.serverKey)
                #expect(run.status == 200 && run["recipients"] == 2, "\(run.body.text)")
                #expect(run["samples", "0", "fault"] == .string("\(TextTooLarge())"))
            }
            let id = try await shop.send(
                payload: #"{"aps":{"alert":"x{{t}}{{t}}{{t}}"}}"#,
                #","texts":{"en":{"t":"\#(text)"}},"fallbackLanguage":"en""#)
            let message = try await shop.provider.finished(id)
            #expect(message["accepted"] == 1 && message["failedByReason"] == ["badNotification": 1])
            // The template itself has a limit too.
            func status(_ count: Int) async throws -> TestProvider.Answer {
                let payload = #"{"a":""}"#
                let filler = String(repeating: "a", count: count - payload.utf8.count - 5)
                return try await shop.provider.ask(
                    .POST, "/v1/messages",
                    #"{"dryRun":true,"audience":{"everybody":true},"payload":{"a":"{{v}}\#(filler)"}}"#,
                    key: shop.serverKey)
            }
            #expect(try await status(ProviderServerLimits.templateBytes).status == 200)
            let refused = try await status(ProviderServerLimits.templateBytes + 1)
            #expect(refused.status == 400 && refused.pointer == "/payload")
        }
    }

    @Test func `A failure is an event for hooks, and their log shows it`() async throws {
        try await TestShop.run(devices: [nil]) { shop in
            try await shop.register()
            let hook = try await shop.provider.ask(
                .POST, "/v1/hooks", #"{"url":"http://127.0.0.1:1/"}"#, key: shop.serverKey)
            _ = try await shop.carillon.ask("DELETE", "/v1/keys/KEY1234567")
            let id = try await shop.send()
            #expect(try await shop.provider.finished(id)["state"] == "paused")
            let log = try await shop.provider.ask(
                .GET, "/v1/hooks/\(try hook.text("id"))/deliveries", key: shop.serverKey)
            #expect(log["items", "0", "type"] == "message.failed" && log["items", "1"] == nil)
        }
    }
}

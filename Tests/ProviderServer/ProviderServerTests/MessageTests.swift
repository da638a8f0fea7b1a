import CampaignStore
import Foundation
import NIOHTTP1
import Notifications
import Synchronization
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// Messages to the devices of a Carillon, over the wire.
@Suite(.timeLimit(.minutes(3))) struct MessageTests {
    /// A time that a test sets.
    private final class Moment: Sendable {
        private let state: Mutex<Timestamp>

        init(_ milliseconds: UInt64) { state = Mutex(Timestamp(milliseconds: milliseconds)) }

        var value: Timestamp {
            get { state.withLock(\.self) }
            set { state.withLock { $0 = newValue } }
        }
    }

    @Test func `Everybody gets a message once, and each outcome can be asked for`() async throws {
        try await TestShop.run(devices: Array(repeating: nil, count: 12)) { shop in
            try await shop.register()
            let id = try await shop.send()
            let message = try await shop.provider.finished(id)
            #expect(message["state"] == "finished" && message["accepted"] == 12 && message["failed"] == 0)
            let received = try await shop.received()
            #expect(received.map(\.token).sorted() == shop.tokens.sorted())
            #expect(Set(received.map(\.id)).count == 12)
            #expect(received.allSatisfy { $0.payload == ["aps": ["alert": "Hello"]] })
            // In pages.
            var ids: Set<String> = []
            var path: String? = "/v1/messages/\(id)/outcomes?limit=5"
            while let current = path {
                let page = try await shop.provider.ask(.GET, current, key: shop.serverKey)
                guard case .array(let items)? = page["items"] else { break }
                for case .object(let item) in items {
                    #expect(item["status"] == 200 && item["reason"] == nil)
                    if case .string(let id)? = item["apnsID"] { ids.insert(id) }
                }
                path = try? "/v1/messages/\(id)/outcomes?limit=5&after=" + page.text("next")
            }
            #expect(ids == Set(received.map(\.id)))
        }
    }

    @Test func `A device token that ended ends its installation, unless it was registered later`() async throws {
        let removed = #"{"kind":"removed","since":1700000000000}"#
        let now = Moment(1_600_000_000_000)
        try await TestShop.run(devices: [removed, removed, nil]) {
            $0.clock.now = { now.value }
        } _: { shop in
            try await shop.register()
            // The app on the first device hands its device token over again, later than the service's time.
            now.value = Timestamp(milliseconds: 1_800_000_000_000)
            try await shop.register(0)
            let message = try await shop.provider.finished(try await shop.send())
            #expect(message["accepted"] == 1 && message["failedByReason"] == ["Unregistered": 2])
            func ended(_ id: String) async throws -> JSONValue? {
                try await shop.provider.ask(.GET, "/v1/installations/\(id)", key: shop.serverKey)["ended", "reason"]
            }
            #expect(try await ended("i0") == nil)
            #expect(try await ended("i1") == "Unregistered")
            // The next message leaves it out.
            let next = try await shop.provider.finished(try await shop.send())
            #expect(next["failed"] == 1 && next["accepted"] == 1)
            // The app hands its device token over again.
            try await shop.register(1)
            #expect(try await ended("i1") == nil)
        }
    }

    @Test func `An audience is named by tags, users, installations and a language`() async throws {
        try await TestShop.run(devices: [nil, nil, nil, nil]) { shop in
            try await shop.register { index in
                [
                    #","tags":["news","sv"],"user":"anna","languages":["sv-SE"]"#,
                    #","tags":["news","sv","muted"],"user":"anna","languages":["sv"]"#,
                    #","tags":["newsletter","sv"],"user":"bob","languages":["svx","sv"]"#,
                    #","tags":["news"],"languages":["en"]"#,
                ][index]
            }
            func reached(_ audience: String) async throws -> [Int] {
                let id = try await shop.send(audience: audience)
                #expect(try await shop.provider.finished(id)["state"] == "finished")
                let page = try await shop.provider.ask(.GET, "/v1/messages/\(id)/outcomes")
                guard case .array(let items)? = page["items"] else { return [] }
                return items.compactMap { item in
                    guard case .object(let members) = item, case .string(let id)? = members["installation"] else {
                        return nil
                    }
                    return Int(id.dropFirst())
                }
            }
            #expect(try await reached(#"{"tags":"(news && sv) && !muted"}"#) == [0])
            #expect(try await reached(#"{"tags":"!news"}"#) == [2])
            #expect(try await reached(#"{"tags":"muted || newsletter"}"#) == [1, 2])
            #expect(try await reached(#"{"tags":"new"}"#) == [])
            #expect(try await reached(#"{"users":["anna","nobody"]}"#) == [0, 1])
            #expect(try await reached(#"{"users":["anna"],"tags":"!muted"}"#) == [0])
            #expect(try await reached(#"{"installations":["i2","i3"]}"#) == [2, 3])
            #expect(try await reached(#"{"language":"SV"}"#) == [0, 1])
            #expect(try await reached(#"{"everybody":true,"environment":"development"}"#) == [0, 1, 2, 3])
        }
    }

    @Test func `A template has values for each recipient, in their language`() async throws {
        try await TestShop.run(devices: [nil, nil, nil, nil]) { shop in
            try await shop.register { index in
                [
                    #","languages":["sv-SE"],"values":{"name":"Anna","count":3}"#,
                    #","languages":["de","en-GB"],"values":{"name":"{{secret}}","count":1}"#,
                    #","languages":["fi"],"user":"carl","values":{"count":2}"#,
                    #","languages":["en"],"values":{"name":"Dora"}"#,
                ][index]
            }
            let id = try await shop.send(
                audience: #"{"everybody":true}"#,
                payload: #"{"aps":{"alert":"{{greeting}}","badge":"{{count}}"},"shop":{"greeting":"{{name}}!"}}"#,
                #","texts":{"en":{"greeting":"Hello {{ name }}"},"sv":{"greeting":"Hej {{name}}"}},"fallbackLanguage":"en","values":{"name":"you"}"#
            )
            let message = try await shop.provider.finished(id)
            // Only the one without a value fails.
            #expect(message["accepted"] == 3 && message["failedByReason"] == ["MissingValue: count": 1])
            let received = try await shop.received()
            func payload(_ index: Int) -> JSONValue? { received.first { $0.token == shop.tokens[index] }?.payload }
            #expect(payload(0) == ["aps": ["alert": "Hej Anna", "badge": 3], "shop": ["greeting": "Anna!"]])
            // A value is not a template.
            #expect(
                payload(1) == ["aps": ["alert": "Hello {{secret}}", "badge": 1], "shop": ["greeting": "{{secret}}!"]])
            #expect(payload(2) == ["aps": ["alert": "Hello you", "badge": 2], "shop": ["greeting": "you!"]])
            #expect(payload(3) == nil)
            let named = try await shop.send(
                audience: #"{"users":{"carl":{"name":"Carl","count":9}}}"#,
                payload: #"{"aps":{"alert":"{{name}}","badge":"{{count}}"}}"#)
            #expect(try await shop.provider.finished(named)["accepted"] == 1)
            #expect(try await shop.received().last?.payload == ["aps": ["alert": "Carl", "badge": 9]])
        }
    }

    @Test func `A dry run says how many and shows ten, and sends nothing`() async throws {
        try await TestShop.run(devices: Array(repeating: nil, count: 12)) { shop in
            try await shop.register { #","values":{"n":\#($0)}"# }
            let answer = try await shop.provider.ask(
                .POST, "/v1/messages",
                #"{"dryRun":true,"audience":{"everybody":true},"payload":{"aps":{"alert":"{{n}} of {{m}}"}},"values":{"m":5}}"#,
                key: shop.serverKey)
            #expect(answer.status == 200 && answer["recipients"] == 12)
            #expect(answer["samples", "9"] != nil && answer["samples", "10"] == nil)
            #expect(answer["samples", "1", "payload"] == ["aps": ["alert": "1 of 5"]])
            #expect(try await shop.received().isEmpty)
            #expect(try await shop.provider.ask(.GET, "/v1/messages", key: shop.serverKey)["items"] == .array([]))
        }
    }

    @Test func `A repeated request with the same idempotency key is the same message`() async throws {
        try await TestShop.run(devices: [nil]) { shop in
            try await shop.register()
            func post(_ alert: String, _ key: String) async throws -> TestProvider.Answer {
                try await shop.provider.ask(
                    .POST, "/v1/messages", #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"\#(alert)"}}}"#,
                    key: shop.serverKey, headers: [("idempotency-key", key)])
            }
            let (first, second) = (try await post("a", "k1"), try await post("a", "k1"))
            #expect(first.status == 202 && second.status == 202)
            #expect(try first.text("id") == second.text("id"))
            #expect(try await post("b", "k1").status == 409)
            #expect(try await post("a", "k2").text("id") != first.text("id"))
            #expect(try await post("a", String(repeating: "k", count: 129)).status == 400)
        }
    }

    @Test func `A repeated request gets its message also when it could not be sent any more`() async throws {
        try await TestShop.run(devices: [nil]) { shop in
            try await shop.register()
            let audience = "/v1/audiences/all"
            _ = try await shop.provider.ask(.PUT, audience, #"{"everybody":true}"#, key: shop.serverKey)
            func post(_ audience: String = "all") async throws -> TestProvider.Answer {
                try await shop.provider.ask(
                    .POST, "/v1/messages", #"{"audience":{"saved":"\#(audience)"},"payload":{"aps":{"alert":"x"}}}"#,
                    key: shop.serverKey, headers: [("idempotency-key", "k")])
            }
            let first = try await post()
            #expect(try await shop.provider.ask(.DELETE, audience, key: shop.serverKey).status == 204)
            let second = try await post()
            #expect(second.status == 202)
            #expect(try second.text("id") == first.text("id"))
            #expect(second.headers.first(name: "location") == first.headers.first(name: "location"))
            #expect(try await post("other").status == 409)
        }
    }

    @Test func `Values for a user and for their installation count together`() async throws {
        try await TestShop.run(devices: [nil]) { shop in
            try await shop.register { _ in #","user":"anna""# }
            let id = try await shop.send(
                audience: #"{"users":{"anna":{"a":1,"b":2}},"installations":{"i0":{"b":3,"c":4}}}"#,
                payload: #"{"aps":{"alert":"{{a}} {{b}} {{c}}"}}"#)
            #expect(try await shop.provider.finished(id)["accepted"] == 1)
            #expect(try await shop.received().last?.payload == ["aps": ["alert": "1 2 4"]])
        }
    }

    private static let faults = [
        (
            #"{"dryRun":true,"audience":{"everybody":true},"payload":{"aps":{}},"sendAt":"2999-01-01T00:00:00Z"}"#,
            "/sendAt"
        ),
        (#"{}"#, ""),
        (#"{"audience":{},"payload":{"aps":{"alert":"x"}}}"#, "/audience"),
        (#"{"audience":{"everybody":false},"payload":{"aps":{"alert":"x"}}}"#, "/audience/everybody"),
        (#"{"audience":{"tags":"a && (b"},"payload":{"aps":{"alert":"x"}}}"#, "/audience/tags"),
        (#"{"audience":{"users":[]},"payload":{"aps":{"alert":"x"}}}"#, "/audience/users"),
        (#"{"audience":{"users":["a",1]},"payload":{"aps":{"alert":"x"}}}"#, "/audience/users/1"),
        (#"{"audience":{"users":{"a":{"x":[]}}},"payload":{"aps":{"alert":"x"}}}"#, "/audience/users/a/x"),
        (#"{"audience":{"environment":"production"},"payload":{"aps":{}}}"#, "/audience/environment"),
        (#"{"audience":{"everybody":true},"payload":{"aps":{"alert":"{{a"}}}"#, "/payload/aps/alert"),
        (#"{"audience":{"everybody":true},"payload":{"a/b":["{{a b}}"]}}"#, "/payload/a~1b/0"),
        (
            #"{"audience":{"everybody":true,"where":"lastSeen < P٣٠D"},"payload":{"aps":{"alert":"x"}}}"#,
            "/audience/where"
        ),
        (
            #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}},"localTime":"٢٠٢٧-01-31T09:00"}"#,
            "/localTime"
        ),
        (
            #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}},"quietHours":{"from":"2٢:00","to":"07:00"}}"#,
            "/quietHours/from"
        ),
        (#"{"audience":{"everybody":true},"payload":[]}"#, "/payload"),
        (
            #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}},"texts":{"en":{"a":"{{"}},"fallbackLanguage":"en"}"#,
            "/texts/en/a"
        ),
        (
            #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}},"texts":{"en":{"a":"b"}},"fallbackLanguage":"sv"}"#,
            "/fallbackLanguage"
        ),
        (#"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}},"sendAt":"tomorrow"}"#, "/sendAt"),
        (
            #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}},"sendAt":"2027-02-30T09:00:00Z"}"#,
            "/sendAt"
        ),
        (
            #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}},"sendAt":"2999-01-01T00:00:00Z"}"#,
            "/sendAt"
        ),
        (
            #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}},"localTime":"2027-02-31T09:00"}"#,
            "/localTime"
        ),
        (#"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}},"priority":7}"#, "/priority"),
        (#"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}},"pushType":"loud"}"#, "/pushType"),
        (#"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}},"rate":0}"#, "/rate"),
        (#"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}},"pushType":"background"}"#, "/payload"),
        (
            #"{"audience":{"everybody":true},"payload":{"aps":{"content-available":1}},"pushType":"background","priority":10}"#,
            "/priority"
        ),
        (
            #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}},"pushType":"voip","topic":"com.example.shop"}"#,
            "/topic"
        ),
        // The payload differs for each recipient, and the topic is wrong for all of them.
        (
            #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"{{a}}"}},"pushType":"voip","topic":"com.example.shop"}"#,
            "/topic"
        ),
        (#"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}},"badge":1}"#, "/badge"),
    ]

    @Test func `A fault has its place`() async throws {
        try await TestShop.run(devices: []) { shop in
            for (body, pointer) in Self.faults {
                let answer = try await shop.provider.ask(.POST, "/v1/messages", body, key: shop.serverKey)
                #expect(answer.status == 400 && answer.pointer == pointer, "\(body): \(answer.body.text)")
            }
        }
    }

    /// Version 0.2 accepted times that do not exist.
    @Test func `A stored message may have times that do not exist`() throws {
        let text = """
            {"audience":{"saved":{"where":"registered < 2027-02-30T09:00:00Z"},"where":"lastSeen < 2027-02-30"},
            "payload":{"aps":{"alert":"x"}},"sendAt":"2027-02-30T09:00:00Z"}
            """
        let document = try MessageDefinition(stored: Array(text.utf8))
        #expect(document.sendAt == Timestamp(text: "2027-03-02T09:00:00Z"))
        #expect(document.audience.expression != nil)
    }
}

import CampaignStore
import HTTPAPI
import NIOHTTP1
import Notifications
import Testing

@testable import ProviderServer

/// What a message says is what is sent, and what its repetition is compared with.
@Suite(.timeLimit(.minutes(2))) struct MessageJSONTests {
    private static let numbers = [
        "18446744073709551615", "-9223372036854775809", "0.1234567890123456789", "123.456e-789", "1e400", "1.50",
    ]

    @Test func `Numbers of messages, of their values and of installations keep their digits`() async throws {
        try await TestShop.run(devices: [nil]) { shop in
            try await shop.register(0, #","values":{"own":\#(Self.numbers[0]),"small":\#(Self.numbers[3])}"#)
            let long = "1" + String(repeating: "0", count: 2_999)
            let sent = Self.numbers.joined(separator: ",")
            let answer = try await shop.provider.ask(
                .POST, "/v1/messages",
                """
                {"audience":{"everybody":true},"dryRun":true,"values":{"value":\(Self.numbers[1])},
                "payload":{"aps":{"alert":"x"},"n":[\(sent)],"long":\(long),
                "own":"{{own}}","small":"{{small}}","value":"{{value}}","text":"{{value}}!"}}
                """, key: shop.serverKey)
            let payload = try #require(answer["samples", "0", "payload"]).members
            #expect(payload["n"]?.text == "[\(sent)]")
            #expect(payload["long"]?.text == long)
            #expect(payload["own"]?.text == Self.numbers[0])
            #expect(payload["small"]?.text == Self.numbers[3])
            #expect(payload["value"]?.text == Self.numbers[1])
            #expect(payload["text"] == .string(Self.numbers[1] + "!"))
        }
    }

    @Test(arguments: ["1e10001", "1e-20000", "1e99999999999999999999", String(repeating: "7", count: 4_097)])
    func `A number that no database can compare is no value`(_ digits: String) throws {
        let document = try JSONValue(document: Array(#"{"a":\#(digits)}"#.utf8), maximumDepth: 1)
        let reader = try DocumentReader(document, at: "/values", keys: nil)
        let problem = #expect(throws: Problem.self) { try TemplateValues.read(reader) }
        #expect(problem?.pointer == "/values/a")
    }

    @Test func `A repeated request is compared by what it says`() async throws {
        try await TestShop.run(devices: [nil]) { shop in
            func send(_ body: String) async throws -> TestProvider.Answer {
                try await shop.provider.ask(
                    .POST, "/v1/messages", body, key: shop.serverKey, headers: [("Idempotency-Key", "k")])
            }
            let first = try await send(#"{"audience":{"everybody":true},"payload":{"aps":{"alert":"a"},"n":1,"m":2}}"#)
            #expect(first.status == 202, "\(first.body.text)")
            let again = try await send(
                #"{"payload":{"m":2.0,"n":10e-1,"aps":{"alert":"\u0061"}}, "audience":{"everybody":true}}"#)
            #expect(again.status == 202 && again["id"] == first["id"], "\(again.body.text)")
            let other = try await send(#"{"audience":{"everybody":true},"payload":{"aps":{"alert":"b"},"n":1,"m":2}}"#)
            #expect(other.status == 409, "\(other.body.text)")
        }
    }

    @Test func `Users that differ only in Unicode's normalization are two`() throws {
        let message =
            "{\"audience\":{\"users\":{\"\u{e9}\":{\"n\":1},\"e\u{301}\":{\"n\":2}}},\"payload\":{\"n\":\"{{n}}\"}}"
        let document = try MessageDefinition(try JSONValue(document: Array(message.utf8), maximumDepth: 9))
        #expect(document.audience.users?.count == 2)
        #expect(document.ownValues["user \u{e9}"]?["n"] == 1 && document.ownValues["user e\u{301}"]?["n"] == 2)
    }
}

import Matching
import Notifications
import Testing

/// Which requests a match selects.
struct RequestMatchTests {
    static let facts: RequestFacts = {
        var facts = RequestFacts(
            time: Timestamp(milliseconds: 1_700_000_000_000), connection: 12, environment: .development,
            interface: .http2, team: TeamID(rawValue: "ABCDE12345"), token: "00fc13", device: DeviceID(rawValue: 0xab),
            topic: "com.example.shop", pushType: "alert",
            apnsID: NotificationID(high: 0x0123_4567_89ab_cdef, low: 0x0123_4567_89ab_cdef), collapseID: "offer",
            body: Array(#"{"aps":{"alert":{"title":"Sale","body":"Now"},"badge":1},"tags":["a",2.5]}"#.utf8),
            status: 400,
            reason: "BadTopic")
        facts.number = 7
        return facts
    }()

    private static func match(_ text: String) throws -> RequestMatch {
        try RequestMatch(try #require(JSONValue(Array(text.utf8))))
    }

    @Test(arguments: [
        "{}", #"{"team":"ABCDE12345"}"#, #"{"topic":"com.example.shop"}"#, #"{"token":"00FC13"}"#,
        #"{"device":"00000000000000AB"}"#, #"{"environment":"development"}"#, #"{"protocol":"h2"}"#,
        #"{"pushType":"alert"}"#, #"{"apnsID":"01234567-89AB-CDEF-0123-456789ABCDEF"}"#, #"{"collapseID":"offer"}"#,
        #"{"status":400}"#, #"{"reason":"BadTopic"}"#, #"{"outcome":"rejected"}"#, #"{"after":6}"#,
        #"{"payload":{}}"#, #"{"payload":{"aps":{"alert":{"title":"Sale"}}}}"#, #"{"payload":{"aps":{"badge":1.0}}}"#,
        #"{"payload":{"tags":["a",2.5]}}"#,
    ])
    func `A request matches if all given values are equal`(document: String) throws {
        let match = try Self.match(document)
        #expect(match.matches(Self.facts))
        #expect(match.differences(from: Self.facts).isEmpty)
    }

    @Test(arguments: [
        (#"{"team":"ABCDE12346"}"#, "team"), (#"{"topic":"com.example"}"#, "topic"), (#"{"token":"00fc"}"#, "token"),
        (#"{"device":"00000000000000ac"}"#, "device"), (#"{"environment":"production"}"#, "environment"),
        (#"{"protocol":"binary"}"#, "protocol"), (#"{"pushType":"voip"}"#, "pushType"),
        (#"{"apnsID":"01234567-89AB-CDEF-0123-456789ABCDE0"}"#, "apnsID"), (#"{"collapseID":"Offer"}"#, "collapseID"),
        (#"{"status":200}"#, "status"), (#"{"reason":"BadPath"}"#, "reason"), (#"{"outcome":"lost"}"#, "outcome"),
        (#"{"after":7}"#, "after"), (#"{"payload":{"aps":{"alert":"Sale"}}}"#, "payload"),
        (#"{"payload":{"tags":["a"]}}"#, "payload"), (#"{"payload":{"tags":[2.5,"a"]}}"#, "payload"),
        (#"{"payload":{"aps":{"sound":"x"}}}"#, "payload"), (#"{"payload":{"aps":{"badge":true}}}"#, "payload"),
    ])
    func `A request that differs does not match, and the difference is named`(document: String, key: String) throws {
        let match = try Self.match(document)
        #expect(!match.matches(Self.facts))
        #expect(match.differences(from: Self.facts) == [key])
    }

    @Test func `Every difference is named`() throws {
        let match = try Self.match(#"{"topic":"other","status":400,"reason":"Shutdown","payload":{"aps":{"badge":2}}}"#)
        #expect(match.differences(from: Self.facts) == ["topic", "reason", "payload"])
    }

    @Test func `A payload that was parsed is not parsed again`() throws {
        var facts = Self.facts
        facts.parsePayload()
        let match = try Self.match(#"{"payload":{"aps":{"badge":1}}}"#)
        // Only what was parsed before still has the badge.
        facts.body = []
        #expect(match.matches(facts))
    }

    @Test(arguments: [
        (#"{"a":"hi \ud83d"}"#, #"{"a":"hi \ufffd"}"#, true), (#"{"a":1e400}"#, #"{"a":1e400}"#, true),
        (#"{"a":18446744073709551615}"#, #"{"a":18446744073709551616}"#, false),
        (#"{"a":1,"a":2}"#, #"{"a":2}"#, true), (#"{"a":1,"a":2}"#, #"{"a":1}"#, false),
        (#"{"\u00e9":1}"#, #"{"e\u0301":1}"#, false), (#"{"a":"\u00e9"}"#, #"{"a":"e\u0301"}"#, false),
        (#"{"\u00e9":1}"#, #"{"é":1}"#, true),
    ])
    func `A payload is compared as every part of the service reads it`(
        _ payload: String, _ wanted: String, _ matches: Bool,
    ) throws {
        var facts = Self.facts
        facts.body = Array(payload.utf8)
        #expect(try Self.match(#"{"payload":\#(wanted)}"#).matches(facts) == matches)
    }

    @Test func `Texts of a request are compared by their code units`() throws {
        var facts = Self.facts
        facts.collapseID = "\u{e9}"
        #expect(try Self.match(#"{"collapseID":"\u00e9"}"#).matches(facts))
        #expect(try Self.match(#"{"collapseID":"e\u0301"}"#).differences(from: facts) == ["collapseID"])
    }

    @Test func `A request without a JSON payload differs in its payload`() throws {
        var facts = Self.facts
        facts.body = Array("{".utf8)
        #expect(try Self.match(#"{"payload":{}}"#).differences(from: facts) == ["payload"])
    }

    @Test(arguments: [
        (#"{"topics":"x"}"#, "/topics"), (#"{"a/b~":1}"#, "/a~1b~0"), (#"{"team":"a b"}"#, "/team"),
        (#"{"team":5}"#, "/team"), (#"{"token":"xyz"}"#, "/token"), (#"{"token":""}"#, "/token"),
        (#"{"device":"12"}"#, "/device"), (#"{"environment":"test"}"#, "/environment"),
        (#"{"protocol":"http3"}"#, "/protocol"), (#"{"apnsID":"1"}"#, "/apnsID"), (#"{"status":"200"}"#, "/status"),
        (#"{"status":600}"#, "/status"), (#"{"status":200.5}"#, "/status"), (#"{"reason":null}"#, "/reason"),
        (#"{"reason":"Unregisterd"}"#, "/reason"),
        (#"{"payload":[]}"#, "/payload"), (#"{"outcome":"gone"}"#, "/outcome"), (#"{"after":-1}"#, "/after"),
        (#"{"topic":["x"]}"#, "/topic"),
    ])
    func `An invalid document is refused, with the place of the fault`(document: String, pointer: String) throws {
        let value = try #require(JSONValue(Array(document.utf8)))
        let error = #expect(throws: MatchError.self) { try RequestMatch(value, at: "/rules/0/match") }
        #expect(error?.pointer == "/rules/0/match" + pointer)
        #expect(error?.detail.isEmpty == false)
    }

    @Test func `A document has to be an object`() {
        let error = #expect(throws: MatchError.self) { try RequestMatch([1]) }
        #expect(error == MatchError("", "The value is of the type array; it has to be an object."))
    }
}

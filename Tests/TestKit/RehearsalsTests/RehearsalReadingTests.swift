import CommonTesting
import Foundation
import Matching
import Notifications
import Testing

@testable import Rehearsals

@Suite("The document of a rehearsal")
struct RehearsalReadingTests {
    private static func document(_ text: String) throws -> JSONValue {
        try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    }

    private static func fault(_ text: String) throws -> Rehearsal.Fault {
        let rehearsal = try Rehearsal(document(#"{"rules":[{"fault":\#(text)}]}"#))
        return try #require(rehearsal.rules.first).fault
    }

    @Test func `Everything that a document may contain is read`() throws {
        let rehearsal = try Rehearsal(
            Self.document(
                #"""
                {"seed":7,"ttl":"PT5M","rules":[{"name":"busy","match":{"team":"ABCDE12345","topic":"com.example.shop"},
                 "when":{"share":0.1},"fault":{"answer":{"reason":"ServiceUnavailable","retryAfter":3}}}]}
                """#))
        #expect(rehearsal.seed == 7)
        #expect(rehearsal.life == .seconds(300))
        let rule = try #require(rehearsal.rules.first)
        #expect(rule.name == "busy")
        #expect(rule.match.topic == "com.example.shop")
        #expect(rule.selection == .share(0.1))
        guard case .request(let fault) = rule.fault, case .answer(let rejection, let retryAfter) = fault.kind else {
            Issue.record("\(rule.fault)")
            return
        }
        #expect(rejection.reason == .serviceUnavailable)
        #expect(retryAfter == 3)
        #expect(fault.actsBeforeAcceptance)
    }

    @Test func `Keys that are missing have defaults`() throws {
        let rehearsal = try Rehearsal(Self.document(#"{"rules":[{"fault":{"hang":true}},{"fault":{"lose":true}}]}"#))
        #expect(rehearsal.seed == 0)
        #expect(rehearsal.life == .seconds(3600))
        #expect(rehearsal.rules.map(\.name) == ["rule 1", "rule 2"])
        #expect(rehearsal.rules.map(\.selection) == [.always, .always])
    }

    @Test(arguments: [
        (#"{"goAway":{"reason":"Shutdown","after":3}}"#, RequestFault(.goAway(.shutdown, after: 3))),
        (#"{"goAway":{}}"#, RequestFault(.goAway(.shutdown, after: 0))),
        (#"{"reset":"REFUSED_STREAM"}"#, RequestFault(.reset(7))),
        (#"{"reset":"CANCEL","accepted":true}"#, RequestFault(.reset(8), isAccepted: true)),
        (#"{"close":"fin"}"#, RequestFault(.close(.fin))), (#"{"close":"rst"}"#, RequestFault(.close(.rst))),
        (#"{"hang":true}"#, RequestFault(.hang)), (#"{"delay":"PT1S"}"#, RequestFault(.delay(.seconds(1)))),
        (#"{"lose":true}"#, RequestFault(.lose)), (#"{"duplicate":2}"#, RequestFault(.duplicate(2))),
        (#"{"settings":{"maxConcurrentStreams":1}}"#, RequestFault(.settings(maxConcurrentStreams: 1))),
        (#"{"omit":"apns-unique-id"}"#, RequestFault(.omit(.uniqueID))),
        (#"{"errorPacket":{"status":10}}"#, RequestFault(.errorPacket(.shutdown))),
    ])
    func `A fault is read`(_ text: String, _ expected: RequestFault) throws {
        #expect(try Self.fault(text) == .request(expected))
    }

    /// An example of each fault. The compiler asks for one of a new fault.
    private static func example(_ name: FaultName) -> String {
        switch name {
        case .answer: #"{"answer":{"reason":"BadTopic"}}"#
        case .goAway: #"{"goAway":{}}"#
        case .reset: #"{"reset":"CANCEL"}"#
        case .close: #"{"close":"fin"}"#
        case .hang: #"{"hang":true}"#
        case .delay: #"{"delay":"PT1S"}"#
        case .lose: #"{"lose":true}"#
        case .duplicate: #"{"duplicate":2}"#
        case .settings: #"{"settings":{"maxConcurrentStreams":1}}"#
        case .omit: #"{"omit":"apns-unique-id"}"#
        case .refuse: #"{"refuse":true}"#
        case .errorPacket: #"{"errorPacket":{"status":10}}"#
        case .certificate: #"{"certificate":"other-authority"}"#
        case .tls: #"{"tls":{"versions":["1.2"]}}"#
        case .handshake: #"{"handshake":"hang"}"#
        }
    }

    @Test(arguments: FaultName.allCases) func `A name is read as its own fault`(_ name: FaultName) throws {
        let fault = try Self.fault(Self.example(name))
        #expect(fault.name == name)
        #expect(fault.interfaces == name.row.interfaces)
    }

    @Test(arguments: FaultName.allCases) func `Only some faults may come after acceptance`(_ name: FaultName) {
        let accepted = Self.example(name).dropLast() + #","accepted":true}"#
        let isAllowed = (try? Self.fault(String(accepted))) != nil
        #expect(isAllowed == [.answer, .reset, .close, .hang, .errorPacket].contains(name))
    }

    @Test func `A delay may be random, and connections may be refused`() throws {
        #expect(
            try Self.fault(#"{"delay":{"median":"PT0.2S","p99":"PT2S"}}"#)
                == .spreadDelay(median: .milliseconds(200), p99: .seconds(2)))
        #expect(try Self.fault(#"{"refuse":true}"#) == .refuse)
    }

    @Test func `Faults of TLS are read`() throws {
        for certificate in HandshakeFault.Certificate.allCases {
            let text = #"{"certificate":"\#(certificate.rawValue)"}"#
            #expect(try Self.fault(text) == .handshake(.certificate(certificate)))
        }
        for disturbance in HandshakeFault.Disturbance.allCases {
            let text = #"{"handshake":"\#(disturbance.rawValue)"}"#
            #expect(try Self.fault(text) == .handshake(.disturbance(disturbance)))
        }
        #expect(
            try Self.fault(#"{"tls":{"versions":["1.3","1.2","1.3"]}}"#) == .handshake(.versions([.tls12, .tls13])))
        let rule = #"{"rules":[{"match":{"serverName":"A.b","protocol":"h2"},"fault":{"handshake":"reset"}}]}"#
        #expect(try Rehearsal(Self.document(rule)).rules.first?.match.serverName == "a.b")
    }

    @Test(arguments: [
        (#"{"share":0}"#, Rehearsal.Selection.share(0)), (#"{"share":1}"#, .share(1)), (#"{"first":3}"#, .first(3)),
        (#"{"every":5}"#, .every(5)), (#"{"after":100}"#, .after(100)),
        (#"{"between":["PT0S","PT20S"]}"#, .between(.zero, .seconds(20))),
    ])
    func `A selection is read`(_ text: String, _ expected: Rehearsal.Selection) throws {
        let rehearsal = try Rehearsal(Self.document(#"{"rules":[{"when":\#(text),"fault":{"hang":true}}]}"#))
        #expect(rehearsal.rules.first?.selection == expected)
    }

    /// Invalid documents, each with the place of its fault.
    private static let bad: [(String, String)] = [
        ("[]", ""), (#"{}"#, ""), (#"{"rules":[]}"#, "/rules"), (#"{"rules":{}}"#, "/rules"),
        (#"{"rules":[{"fault":{"hang":true}}],"speed":1}"#, "/speed"),
        (#"{"rules":[{"fault":{"hang":true}}],"a/b~c":1}"#, "/a~1b~0c"),
        (#"{"ttl":"PT0S","rules":[{"fault":{"hang":true}}]}"#, "/ttl"),
        (#"{"ttl":"P2D","rules":[{"fault":{"hang":true}}]}"#, "/ttl"),
        (#"{"ttl":300,"rules":[{"fault":{"hang":true}}]}"#, "/ttl"),
        (#"{"seed":"x","rules":[{"fault":{"hang":true}}]}"#, "/seed"), (#"{"rules":[7]}"#, "/rules/0"),
        (#"{"rules":[{}]}"#, "/rules/0"), (#"{"rules":[{"fault":{}}]}"#, "/rules/0/fault"),
        (#"{"rules":[{"fault":{"hang":true,"lose":true}}]}"#, "/rules/0/fault"),
        (#"{"rules":[{"fault":{"hang":false}}]}"#, "/rules/0/fault/hang"),
        (#"{"rules":[{"fault":{"explode":true}}]}"#, "/rules/0/fault"),
        (#"{"rules":[{"name":"","fault":{"hang":true}}]}"#, "/rules/0/name"),
        (#"{"rules":[{"name":"a","fault":{"hang":true}},{"name":"a","fault":{"hang":true}}]}"#, "/rules/1/name"),
        (#"{"rules":[{"match":{"team":"a b"},"fault":{"hang":true}}]}"#, "/rules/0/match/team"),
        (#"{"rules":[{"match":{"environment":"production"},"fault":{"hang":true}}]}"#, "/rules/0/match/environment"),
        (#"{"rules":[{"when":{},"fault":{"hang":true}}]}"#, "/rules/0/when"),
        (#"{"rules":[{"when":{"first":1,"every":2},"fault":{"hang":true}}]}"#, "/rules/0/when"),
        (#"{"rules":[{"when":{"share":1.5},"fault":{"hang":true}}]}"#, "/rules/0/when/share"),
        (#"{"rules":[{"when":{"first":0},"fault":{"hang":true}}]}"#, "/rules/0/when/first"),
        (#"{"rules":[{"when":{"between":["PT2S","PT1S"]},"fault":{"hang":true}}]}"#, "/rules/0/when/between/1"),
        (#"{"rules":[{"when":{"between":["PT2S"]},"fault":{"hang":true}}]}"#, "/rules/0/when/between"),
        (#"{"rules":[{"fault":{"answer":{}}}]}"#, "/rules/0/fault/answer"),
        (#"{"rules":[{"fault":{"answer":{"reason":"Nonsense"}}}]}"#, "/rules/0/fault/answer/reason"),
        (
            #"{"rules":[{"fault":{"answer":{"reason":"Shutdown","retryAfter":-1}}}]}"#,
            "/rules/0/fault/answer/retryAfter"
        ),
        (#"{"rules":[{"fault":{"goAway":{"after":-1}}}]}"#, "/rules/0/fault/goAway/after"),
        (#"{"rules":[{"fault":{"reset":"cancel"}}]}"#, "/rules/0/fault/reset"),
        (#"{"rules":[{"fault":{"close":"now"}}]}"#, "/rules/0/fault/close"),
        (#"{"rules":[{"fault":{"delay":"PT1H"}}]}"#, "/rules/0/fault/delay"),
        (#"{"rules":[{"fault":{"delay":{"median":"PT2S","p99":"PT1S"}}}]}"#, "/rules/0/fault/delay/p99"),
        (#"{"rules":[{"fault":{"delay":{"median":"PT2S"}}}]}"#, "/rules/0/fault/delay"),
        (#"{"rules":[{"fault":{"duplicate":1}}]}"#, "/rules/0/fault/duplicate"),
        (#"{"rules":[{"fault":{"duplicate":101}}]}"#, "/rules/0/fault/duplicate"),
        (
            #"{"rules":[{"fault":{"settings":{"maxConcurrentStreams":0}}}]}"#,
            "/rules/0/fault/settings/maxConcurrentStreams"
        ),
        (#"{"rules":[{"fault":{"errorPacket":{"status":256}}}]}"#, "/rules/0/fault/errorPacket/status"),
        (#"{"rules":[{"fault":{"errorPacket":{"status":0}}}]}"#, "/rules/0/fault/errorPacket/status"),
        (#"{"rules":[{"fault":{"delay":"PT1S","accepted":true}}]}"#, "/rules/0/fault/accepted"),
        (#"{"rules":[{"fault":{"hang":true,"accepted":false}}]}"#, "/rules/0/fault/accepted"),
        (#"{"rules":[{"match":{"team":"ABCDE12345"},"fault":{"refuse":true}}]}"#, "/rules/0/match/team"),
        (#"{"rules":[{"match":{"protocol":"binary"},"fault":{"goAway":{}}}]}"#, "/rules/0/match/protocol"),
        (#"{"rules":[{"match":{"protocol":"h2"},"fault":{"errorPacket":{"status":10}}}]}"#, "/rules/0/match/protocol"),
    ]

    /// Matches that no request has when a rehearsal sees it, with the place of the fault.
    private static let unreachable: [(String, String)] = [
        (#"{"outcome":"delivered"}"#, "outcome"), (#"{"outcome":"stored"}"#, "outcome"),
        (#"{"outcome":"lost"}"#, "outcome"), (#"{"status":410}"#, "status"),
        (#"{"status":500}"#, "status"), (#"{"status":299}"#, "status"), (#"{"status":8}"#, "status"),
        (#"{"reason":"Unregistered"}"#, "reason"), (#"{"reason":"TooManyRequests"}"#, "reason"),
        (#"{"reason":"ChannelNotRegistered"}"#, "reason"), (#"{"reason":"FeatureNotEnabled"}"#, "reason"),
        (#"{"reason":"InvalidToken"}"#, "reason"),
        (#"{"status":200,"reason":"BadTopic"}"#, "status"), (#"{"status":403,"reason":"BadTopic"}"#, "status"),
        (#"{"outcome":"pending","reason":"BadTopic"}"#, "outcome"),
        (#"{"outcome":"pending","status":400}"#, "outcome"), (#"{"outcome":"rejected","status":200}"#, "outcome"),
        (#"{"protocol":"management"}"#, "protocol"), (#"{"protocol":"binary","pushType":"alert"}"#, "pushType"),
        (#"{"protocol":"binary","collapseID":"a"}"#, "collapseID"),
        (#"{"protocol":"binary","apnsID":"00000000-0000-4000-8000-000000000001"}"#, "apnsID"),
        (#"{"protocol":"binary","reason":"InvalidToken"}"#, "reason"),
        (#"{"protocol":"binary","outcome":"rejected"}"#, "outcome"), (#"{"protocol":"binary","status":8}"#, "status"),
    ]

    @Test(arguments: unreachable)
    func `A match that could never fire is refused`(_ match: String, _ key: String) throws {
        let document = try Self.document(#"{"rules":[{"match":\#(match),"fault":{"hang":true}}]}"#)
        let error = #expect(throws: MatchError.self) { try Rehearsal(document) }
        #expect(error?.pointer == "/rules/0/match/" + key)
    }

    @Test func `A fault of the binary API has the binary API's matches`() throws {
        let document = try Self.document(
            #"{"rules":[{"match":{"pushType":"alert"},"fault":{"errorPacket":{"status":8}}}]}"#)
        let error = #expect(throws: MatchError.self) { try Rehearsal(document) }
        #expect(error?.pointer == "/rules/0/match/pushType")
    }

    @Test(arguments: [
        #"{"outcome":"pending"}"#, #"{"outcome":"rejected"}"#, #"{"outcome":"pending","status":200}"#,
        #"{"outcome":"rejected","status":400,"reason":"BadTopic"}"#, #"{"reason":"ExpiredProviderToken"}"#,
        #"{"status":503}"#, #"{"status":413}"#, #"{"after":7}"#, #"{"protocol":"binary","outcome":"pending"}"#,
        #"{"protocol":"binary","status":200,"topic":"a","token":"00","payload":{}}"#,
    ])
    func `A match that can fire is read`(_ match: String) throws {
        _ = try Rehearsal(Self.document(#"{"rules":[{"match":\#(match),"fault":{"hang":true}}]}"#))
    }

    @Test(arguments: bad)
    func `An invalid document is refused with the place of its fault`(_ text: String, _ pointer: String) throws {
        let document = try Self.document(text)
        let error = #expect(throws: MatchError.self) { try Rehearsal(document) }
        #expect(error?.pointer == pointer)
        #expect(error?.detail.isEmpty == false)
    }

    @Test func `The number of rules in a document is limited`() throws {
        func document(_ count: Int) throws -> JSONValue {
            try Self.document(
                #"{"rules":["# + Array(repeating: #"{"fault":{"hang":true}}"#, count: count).joined(separator: ",")
                    + "]}")
        }
        #expect(try Rehearsal(document(RehearsalLimits.rules)).rules.count == RehearsalLimits.rules)
        #expect(throws: MatchError.self) { try Rehearsal(document(RehearsalLimits.rules + 1)) }
    }

    // MARK: Ready-made ones

    private static let examples = Repository.file("Examples/rehearsals")

    static let files =
        (try? FileManager.default.contentsOfDirectory(atPath: examples.path))?
        .filter { $0.hasSuffix(".json") }.sorted() ?? []

    @Test func `There are ten ready-made rehearsals`() { #expect(Self.files.count == 10) }

    @Test(arguments: files)
    func `A ready-made rehearsal is valid, and described`(_ file: String) throws {
        let text = try String(contentsOf: Self.examples.appendingPathComponent(file), encoding: .utf8)
        _ = try Rehearsal(Self.document(text))
        let described = try String(contentsOf: Self.examples.appendingPathComponent("README.md"), encoding: .utf8)
        #expect(described.contains("[\(file)](\(file))"))
    }
}

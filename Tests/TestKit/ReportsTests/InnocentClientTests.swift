import Matching
import Testing

@testable import Reports

/// What looks like a fault and is none, because a test advanced a clock or because of the kind of notification.
@Suite("The report blames no innocent client")
struct InnocentClientTests {
    private typealias History = ClientReportTests.History

    private static func findings(_ write: (inout History) throws -> Void) rethrows -> [String] {
        try ClientReportTests.findings(write).map(\.id)
    }

    private static let hour: UInt64 = 3_600_000

    /// Some notifications with the first provider token, and the next ones with a new one that is a minute younger.
    private static func renew(after advance: UInt64, _ history: inout History, refused: Bool) throws {
        for _ in 0..<2 { try history.send() }
        history.ahead += advance
        // Both were on their way before the first was answered.
        if refused {
            for _ in 0..<2 { try history.send(status: 403, reason: "ExpiredProviderToken") }
        }
        for _ in 0..<2 { try history.send(after: 60_000, issued: 1_800_000_060) }
    }

    @Test(arguments: [true, false])
    func `A provider token is renewed after the clock was advanced`(_ isRefused: Bool) throws {
        #expect(try Self.findings { try Self.renew(after: Self.hour, &$0, refused: isRefused) } == [])
        // The clock is advanced again, and the client renews again.
        let twice = try Self.findings { history in
            try Self.renew(after: Self.hour, &history, refused: isRefused)
            history.ahead += Self.hour
            try history.send(after: 60_000, issued: 1_800_000_120)
        }
        #expect(twice == [])
    }

    @Test func `A provider token was made before the advance and is first used after it`() throws {
        let findings = try Self.findings { history in
            history.ahead += Self.hour
            try history.send(status: 403, reason: "ExpiredProviderToken")
            try history.send(after: 1_000, issued: 1_800_000_001)
        }
        #expect(findings == [])
    }

    @Test func `Provider tokens are made too often, also after an advance`() throws {
        try ClientReportTests.expect("provider-token-churn", [3]) { history in
            try history.send()
            history.ahead += Self.hour
            try history.send(after: 60_000, issued: 1_800_000_060)
            try history.send(after: 60_000, issued: 1_800_000_120)
        }
        // An advance by ten minutes is no reason for a new provider token.
        try ClientReportTests.expect("provider-token-churn", [2]) { history in
            try history.send()
            history.ahead += Self.hour / 6
            try history.send(after: 60_000, issued: 1_800_000_060)
        }
    }

    @Test func `Clients that share a key have a provider token each`() throws {
        let findings = try Self.findings { history in
            for _ in 0..<2 {
                try history.send(issued: 1_800_000_000)
                try history.send(connection: 2, issued: 1_800_000_001)
                try history.send(connection: 3, issued: 1_800_000_002)
            }
        }
        #expect(findings == [])
        // One of them makes another, on the connection that it has.
        try ClientReportTests.expect("provider-token-churn", [4]) { history in
            try history.send(issued: 1_800_000_000)
            try history.send(connection: 2, issued: 1_800_000_001)
            try history.send(issued: 1_800_000_000)
            try history.send(issued: 1_800_000_060)
            try history.send(connection: 2, issued: 1_800_000_001)
        }
        // An older token that is used after the newer one, and not beside it.
        try ClientReportTests.expect("provider-token-churn", [1]) { history in
            try history.send(issued: 1_800_000_060)
            try history.send(connection: 2, issued: 1_800_000_000)
        }
        // One client with two connections, of which the older is slow to learn of the new provider token.
        try ClientReportTests.expect("provider-token-churn", [3]) { history in
            try history.send(issued: 1_800_000_000)
            try history.send(connection: 2, issued: 1_800_000_000)
            try history.send(connection: 2, issued: 1_800_000_060)
            try history.send(issued: 1_800_000_000)
        }
    }

    @Test func `A client goes on with a provider token that was refused as too old`() throws {
        // The same notification again, with the same provider token.
        try ClientReportTests.expect("provider-token-too-old", [2]) { history in
            history.ahead += Self.hour
            for _ in 0..<2 { try history.send("Again", status: 403, reason: "ExpiredProviderToken") }
        }
        // Others, when the answer must have arrived.
        try ClientReportTests.expect("provider-token-too-old", [2]) { history in
            history.ahead += Self.hour
            try history.send(status: 403, reason: "ExpiredProviderToken")
            try history.send(after: 1_100, status: 403, reason: "ExpiredProviderToken")
        }
        // The provider token is too old by the machine's clock too.
        try ClientReportTests.expect("provider-token-too-old", [1]) { history in
            history.ahead += Self.hour
            try history.send(after: Self.hour, status: 403, reason: "ExpiredProviderToken")
        }
    }

    @Test func `A delay is measured by the client's clock`() throws {
        let findings = try Self.findings { history in
            try history.send("Again", status: 503, reason: "ServiceUnavailable")
            history.ahead += Self.hour
            for delay in [1_000, 2_000, 4_000] as [UInt64] {
                try history.send("Again", after: delay, status: 503, reason: "ServiceUnavailable")
            }
            try history.send("Again", after: 8_000)
        }
        #expect(findings == [])
        // An advance is no delay.
        try ClientReportTests.expect("retried-without-delay", [2]) { history in
            try history.send("Again", status: 503, reason: "ServiceUnavailable")
            history.ahead += Self.hour
            try history.send("Again", after: 10)
        }
    }

    @Test func `Jitter makes a delay shorter than the one before`() throws {
        let findings = try Self.findings { history in
            try history.send("Again", status: 503, reason: "ServiceUnavailable")
            for delay in [1_000, 2_100, 1_900, 4_400, 4_400] as [UInt64] {
                try history.send("Again", after: delay, status: 503, reason: "ServiceUnavailable")
            }
            try history.send("Again", after: 8_000)
        }
        #expect(findings == [])
    }

    @Test func `A rehearsal cuts the connection after the clock was advanced`() throws {
        let findings = try Self.findings { history in
            try history.send("A")
            history.ahead += Self.hour
            try history.send("B", isAnswered: false, isRehearsed: true, outcome: .dropped)
            try history.send("A", connection: 2)
            try history.send("B", connection: 2)
        }
        #expect(findings == [])
    }

    /// A kind of notification with the payload that each notification of this kind has.
    struct Kind: Sendable, CustomTestStringConvertible {
        let topic: String
        let type: String?
        let body: String
        var testDescription: String { "\(type ?? "no type"), \(topic)" }

        init(_ topic: String, _ type: String?, _ body: String) {
            (self.topic, self.type, self.body) = (topic, type, body)
        }
    }

    private static let kinds = [
        Kind("com.apple.mgmt.External.0b1e5b4a", "mdm", #"{"mdm":"5F1E2D3C"}"#),
        Kind("com.apple.mgmt.External.0b1e5b4a", "alert", #"{"mdm":"5F1E2D3C"}"#),
        Kind("pass.com.example.ticket", nil, "{}"),
        Kind("pass.com.example.ticket", "alert", #"{"aps":{}}"#),
        Kind("com.example.shop.pushkit.fileprovider", "fileprovider", #"{"container-identifier":"root"}"#),
        Kind("com.example.shop.location-query", "location", #"{"aps":{}}"#),
        Kind("com.example.shop.push-type.widgets", "widgets", #"{"aps":{"content-changed":true}}"#),
        Kind("com.example.shop.push-type.controls", "controls", #"{"aps":{"content-changed":true}}"#),
        Kind("com.example.shop.voip", "voip", #"{"aps":{"content-available":1},"caller":"Ann"}"#),
        Kind("com.example.shop.voip-ptt", "pushtotalk", #"{"aps":{},"activeSpeaker":"Ann"}"#),
        Kind("com.example.shop.complication", "complication", #"{"aps":{"content-available":1}}"#),
    ]

    @Test(arguments: kinds) func `Payloads are equal by nature`(_ kind: Kind) throws {
        let headers = ["apns-topic": kind.topic, "apns-push-type": kind.type]
        let findings = try Self.findings { history in
            for _ in 0..<3 { try history.send(headers: headers, body: kind.body) }
        }
        #expect(findings == [])
        // Each is another notification, so a following one is no attempt to send the refused one again.
        let refused = try Self.findings { history in
            for _ in 0..<3 {
                try history.send(headers: headers, body: kind.body, status: 503, reason: "ServiceUnavailable")
            }
        }
        #expect(refused == [])
        try ClientReportTests.expect("retried-without-delay", [2]) { history in
            let id = ["apns-id": "00000000-0000-4000-8000-00000000000a" as String?]
            for status in [503, 200] {
                try history.send(
                    headers: headers.merging(id) { $1 }, body: kind.body, status: status,
                    reason: status == 503 ? "ServiceUnavailable" : nil)
            }
        }
    }

    @Test func `Silent notifications that are equal are no fault`() throws {
        let findings = try Self.findings { history in
            for _ in 0..<2 {
                try history.send(
                    headers: ["apns-push-type": "background", "apns-priority": "5"],
                    body: #"{"aps":{"content-available":1}}"#)
            }
        }
        #expect(findings == [])
    }

    @Test(arguments: [#"{"aps":{"alert":"Sale"}}"#, #"{"aps":{"badge":3}}"#, #"{"aps":{"sound":"a"}}"#])
    func `What a person sees or hears twice is a fault`(_ body: String) throws {
        try ClientReportTests.expect("identical-notifications", [2]) { history in
            for _ in 0..<2 { try history.send(body: body) }
        }
    }

    @Test func `A Live Activity's update that comes twice is a fault`() throws {
        try ClientReportTests.expect("identical-notifications", [2]) { history in
            for _ in 0..<2 {
                try history.send(
                    headers: [
                        "apns-push-type": "liveactivity", "apns-topic": "com.example.shop.push-type.liveactivity",
                    ], body: #"{"aps":{"timestamp":1800000000,"event":"update","content-state":{}}}"#)
            }
        }
    }

    @Test func `Only a silent notification must not have priority 10`() throws {
        try ClientReportTests.expect("silent-priority-10", [1]) { history in
            try history.send(body: #"{"aps":{"content-available":1}}"#)
        }
    }
}

import Matching
import Notifications
import Testing

@testable import Reports

/// A client that makes one fault on purpose gets that one finding. A client without faults gets none.
@Suite("The report on a client")
struct ClientReportTests {
    /// Writes a history request by request.
    struct History {
        var requests: [RecordedRequest] = []
        /// The machine's clock.
        var milliseconds: UInt64 = 1_800_000_000_000
        /// By how many milliseconds a test has advanced the service's clock.
        var ahead: UInt64 = 0

        /// - Parameters:
        ///   - after: milliseconds since the previous request.
        ///   - issued: when the provider token was made, in seconds.
        mutating func send(
            _ alert: String = "",
            token: String = String(repeating: "ab", count: 32),
            after: UInt64 = 10,
            connection: UInt64 = 1,
            issued: Int = 1_800_000_000,
            algorithm: String = "ES256",
            headers: [String: String?] = [:],
            body: String? = nil,
            status: Int = 200,
            reason: String? = nil,
            isAnswered: Bool = true,
            isRehearsed: Bool = false,
            outcome: RequestOutcome? = nil,
            practices: Set<RequestFacts.Practice> = [],
            channel: String? = nil,
            activityToken: RequestFacts.ActivityTokenKind? = nil,
            unknown: Set<RequestFacts.Unknown> = [],
            team: String? = nil,
        ) throws {
            milliseconds += after
            let number = UInt64(requests.count + 1)
            var all: [String: String] = [
                ":path": "/3/device/\(token)", "apns-push-type": "alert", "apns-topic": "com.example.shop",
                "authorization": "bearer \(Self.base64(#"{"alg":"\#(algorithm)","kid":"K"}"#))."
                    + "\(Self.base64(#"{"iss":"T","iat":\#(issued)}"#)).",
            ]
            for (name, value) in headers { all[name] = value }
            let id =
                headers["apns-id"].flatMap(\.self)
                ?? "00000000-0000-4000-8000-\(String(1_000_000_000_000 + number).suffix(12))"
            let text = body ?? #"{"aps":{"alert":"\#(alert.isEmpty ? "Number \(number)" : alert)"}}"#
            var facts = RequestFacts(
                time: Timestamp(milliseconds: milliseconds + ahead), connection: connection, environment: .development,
                interface: .http2, sender: KeyID(rawValue: "KEY1234567").map { .key($0) },
                headers: all.map { RequestFacts.Header(name: $0.key, value: $0.value) },
                token: token.lowercased(), topic: all["apns-topic"], pushType: all["apns-push-type"],
                apnsID: try #require(NotificationID(id)), collapseID: all["apns-collapse-id"],
                body: Array(text.utf8), status: status, reason: reason)
            facts.number = number
            facts.machineTime = Timestamp(milliseconds: milliseconds)
            if let outcome { facts.outcome = outcome }
            facts.practices = practices
            facts.channel = channel
            facts.activityToken = activityToken
            facts.unknown = unknown
            facts.team = team.flatMap(TeamID.init)
            requests.append(RecordedRequest(facts, isAnswered: isAnswered, isRehearsed: isRehearsed))
        }

        private static func base64(_ text: String) -> String {
            let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
            var (result, buffer, bits) = ("", 0, 0)
            for byte in text.utf8 {
                buffer = (buffer << 8 | Int(byte)) & 0xffff
                bits += 8
                while bits >= 6 {
                    bits -= 6
                    result.append(alphabet[buffer >> bits & 63])
                }
            }
            if bits > 0 { result.append(alphabet[buffer << (6 - bits) & 63]) }
            return result
        }
    }

    static func findings(_ write: (inout History) throws -> Void) rethrows -> [Finding] {
        var history = History()
        try write(&history)
        return ClientReport.findings(history.requests)
    }

    static func expect(
        _ id: String,
        _ requests: [UInt64],
        sourceLocation: SourceLocation = #_sourceLocation,
        _ write: (inout History) throws -> Void,
    ) throws {
        let findings = try findings(write)
        #expect(findings.map(\.id) == [id], sourceLocation: sourceLocation)
        #expect(findings.first?.requests == requests, sourceLocation: sourceLocation)
        #expect(findings.allSatisfy { !$0.advice.isEmpty && !$0.text.isEmpty && !$0.section.isEmpty })
    }

    @Test func `A client without faults gets no findings`() throws {
        let findings = try Self.findings { history in
            for connection in [1, 2] as [UInt64] {
                for _ in 0..<50 { try history.send(connection: connection) }
            }
            // Another attempt after a delay that grows, and a new provider token after half an hour.
            try history.send("Again", status: 503, reason: "ServiceUnavailable")
            try history.send("Again", after: 1000, status: 503, reason: "ServiceUnavailable")
            try history.send("Again", after: 2100)
            try history.send(after: 1_800_000, issued: 1_800_001_800)
            try history.send(token: String(repeating: "cd", count: 32), status: 410, reason: "Unregistered")
            try history.send(
                headers: ["apns-push-type": "background", "apns-priority": "5"],
                body: #"{"aps":{"content-available":1}}"#)
        }
        #expect(findings == [])
        #expect(ClientReport.findings([]) == [])
    }

    @Test func `Provider tokens are made too often`() throws {
        try Self.expect("provider-token-churn", [2, 3]) { history in
            for minute in 0..<3 { try history.send(issued: 1_800_000_000 + minute * 60) }
        }
    }

    @Test func `A request with a provider token that is too new and was refused for it counts once`() throws {
        try Self.expect("provider-token-churn", [2]) { history in
            try history.send()
            try history.send(issued: 1_800_000_060, status: 429, reason: "TooManyProviderTokenUpdates")
        }
    }

    @Test func `A client may make a new provider token if a rehearsal has refused the old one`() throws {
        let findings = try Self.findings { history in
            try history.send("A", status: 403, reason: "ExpiredProviderToken", isRehearsed: true)
            try history.send("A", issued: 1_800_000_060)
        }
        #expect(findings.map(\.id) == [])
    }

    @Test func `What a rehearsal did is not blamed on the client`() throws {
        let findings = try Self.findings { history in
            try history.send("A", status: 403, reason: "ExpiredProviderToken", isRehearsed: true)
            try history.send("D", status: 429, reason: "TooManyProviderTokenUpdates", isRehearsed: true)
            // The rehearsal cuts the connection before the answer to the first of the two has arrived.
            let id = ["apns-id": "00000000-0000-4000-8000-000000000001" as String?]
            try history.send("B", headers: id)
            try history.send("C", isAnswered: false, isRehearsed: true, outcome: .dropped)
            try history.send("B", connection: 2, headers: id)
            try history.send("C", connection: 2)
        }
        #expect(findings.map(\.id) == [])
    }

    /// Each attempt has an identifier of its own, because the client leaves the choice to the service.
    @Test func `A notification whose answer a rehearsal destroyed may be sent again`() throws {
        let findings = try Self.findings { history in
            try history.send("A")
            try history.send("B", isAnswered: false, isRehearsed: true, outcome: .dropped)
            try history.send("A", connection: 2)
            try history.send("B", connection: 2)
        }
        #expect(findings.map(\.id) == [])
        // The client has heard the answer to the second attempt.
        try Self.expect("identical-notifications", [5]) { history in
            try history.send("A")
            try history.send("B", isAnswered: false, isRehearsed: true, outcome: .dropped)
            try history.send("A", connection: 2)
            try history.send("B", connection: 2)
            try history.send("A", connection: 2)
        }
    }

    @Test func `A rehearsal's answer does not make provider tokens worse than they are`() throws {
        let findings = try Self.findings { history in
            try history.send()
            try history.send(
                issued: 1_800_000_060, status: 429, reason: "TooManyProviderTokenUpdates", isRehearsed: true)
        }
        #expect(findings.map(\.id) == ["provider-token-churn"])
        #expect(findings.first?.severity == .warning)
        let refused = try Self.findings { history in
            try history.send(status: 429, reason: "TooManyProviderTokenUpdates")
        }
        #expect(refused.map(\.id) == ["provider-token-churn"])
        #expect(refused.first?.severity == .error)
    }

    @Test func `A 429 or a 5xx is never followed by another attempt`() throws {
        try Self.expect("rejected-never-retried", [1, 2]) { history in
            try history.send("A", status: 429, reason: "TooManyRequests")
            try history.send("B", status: 503, reason: "ServiceUnavailable")
            try history.send("C")
        }
    }

    @Test func `Provider tokens are too old`() throws {
        try Self.expect("provider-token-too-old", [2]) { history in
            try history.send()
            try history.send(status: 403, reason: "ExpiredProviderToken")
        }
    }

    @Test func `A connection is opened for each push`() throws {
        try Self.expect("connection-per-push", [1, 2, 3, 4]) { history in
            for connection in 1...4 as ClosedRange<UInt64> { try history.send(connection: connection) }
        }
    }

    @Test func `There are more connections than the requests need`() throws {
        try Self.expect("too-many-connections", Array(stride(from: 1, to: 20, by: 2))) { history in
            for connection in 1...10 as ClosedRange<UInt64> {
                for _ in 0..<2 { try history.send(connection: connection) }
            }
        }
    }

    @Test(arguments: [1, 2])
    func `Connections that a rehearsal has ended are not blamed on the client`(requests: Int) throws {
        let findings = try Self.findings { history in
            for connection in 1...10 as ClosedRange<UInt64> {
                for number in 1...requests {
                    try history.send(connection: connection, isRehearsed: number == requests)
                }
            }
        }
        #expect(findings.isEmpty)
    }

    @Test func `Paths or provider tokens fill the table of headers`() throws {
        try Self.expect("hpack-table-filled", [2]) { history in
            try history.send()
            try history.send(practices: [.filledTable])
        }
    }

    @Test func `A connection has PRIORITY frames`() throws {
        try Self.expect("priority-frames", [1]) { history in
            for _ in 0..<2 { try history.send(practices: [.priorityFrames]) }
        }
    }

    @Test(arguments: [RequestFacts.Practice.narrowWindow, .windowUpdates])
    func `Windows are misused`(_ practice: RequestFacts.Practice) throws {
        try Self.expect("windows-misused", [1]) { history in
            for _ in 0..<2 { try history.send(practices: [practice]) }
        }
    }

    @Test func `An idle connection is used without a check`() throws {
        try Self.expect("idle-without-ping", [2]) { history in
            try history.send()
            try history.send(practices: [.unchecked])
        }
    }

    @Test func `Connections end without a request`() {
        #expect(ClientReport.findings([], unusedConnections: 2) == [])
        let findings = ClientReport.findings([], unusedConnections: 3)
        #expect(findings.map(\.id) == ["connections-unused"])
        #expect(findings.first?.text.hasPrefix("3 ") == true)
    }

    @Test func `A 4xx is sent again`() throws {
        try Self.expect("rejected-sent-again", [2]) { history in
            for _ in 0..<2 { try history.send("Bad", status: 400, reason: "BadTopic") }
        }
    }

    @Test func `A 410 is sent again`() throws {
        try Self.expect("unregistered-sent-again", [2, 3]) { history in
            for _ in 0..<3 { try history.send(status: 410, reason: "Unregistered") }
        }
    }

    @Test func `A device token that works again after a 410 is no fault`() throws {
        let findings = try Self.findings { history in
            try history.send(status: 410, reason: "Unregistered")
            try history.send()
        }
        #expect(findings == [])
    }

    @Test(arguments: [[10, 10], [1000, 100], [1000, 1000, 1000]] as [[UInt64]])
    func `A 5xx or 429 is retried without a growing delay`(_ delays: [UInt64]) throws {
        let findings = try Self.findings { history in
            try history.send("Again", status: 503, reason: "ServiceUnavailable")
            for delay in delays { try history.send("Again", after: delay, status: 429, reason: "TooManyRequests") }
        }
        #expect(findings.map(\.id) == ["retried-without-delay"])
    }

    @Test func `An answered notification is sent again on another connection`() throws {
        let id = "00000000-0000-4000-8000-00000000000a"
        try Self.expect("processed-sent-again", [2]) { history in
            try history.send("One", headers: ["apns-id": id])
            try history.send("One", connection: 2, headers: ["apns-id": id.uppercased()])
        }
    }

    @Test func `A notification that was not processed is never sent again`() throws {
        try Self.expect("unprocessed-lost", [1]) { history in
            try history.send("One", isAnswered: false, outcome: .dropped)
            try history.send("Two", isAnswered: false, outcome: .dropped)
            try history.send("Two", connection: 2)
        }
    }

    /// A widely used client in PHP does so.
    @Test func `A provider token names another algorithm`() throws {
        try Self.expect("provider-token-algorithm", [2, 4]) { history in
            try history.send()
            try history.send(algorithm: "ES512")
            try history.send(algorithm: "ES512")
            try history.send(issued: 1_800_002_000, algorithm: "none", status: 403, reason: "InvalidProviderToken")
        }
    }

    /// The first connection was ended after its first request. `late` came above the last stream.
    private static func findings(
        _ late: [String], unknown: Int = 0, _ write: (inout History) throws -> Void,
    ) throws -> [String] {
        var history = History()
        try history.send("One")
        try write(&history)
        let token = String(repeating: "ab", count: 32)
        let ended = UnprocessedRequests(
            connection: 1, environment: .development, team: nil, after: 1,
            fingerprints: late.map {
                UnprocessedRequests.fingerprint(token: token, body: #"{ "aps":{"alert":"\#($0)"} }"#.utf8)
            }, unknown: unknown)
        // The connection on which it was sent again may have been ended too.
        let again = UnprocessedRequests(
            connection: 2, environment: .development, team: nil, after: 1, fingerprints: ended.fingerprints, unknown: 0)
        return ClientReport.findings(history.requests, unprocessed: [ended, again])
            .filter { $0.id == "goaway-never-resent" }.map { String($0.text.prefix { $0 != " " }) }
    }

    @Test func `What came above the last stream of a GOAWAY is never sent again`() throws {
        let never = try Self.findings(["Two", "Two", "Three"]) { _ in }
        #expect(never == ["3"])
        let unsent = try Self.findings(["One"]) { history in try history.send("Two", connection: 2) }
        // The same connection is no way to send again.
        #expect(unsent == ["1"])
        let once = try Self.findings(["Two", "Two", "Three"]) { history in try history.send("Two", connection: 3) }
        #expect(once == ["2"])
    }

    @Test func `What came above the last stream of a GOAWAY is sent again`() throws {
        let findings = try Self.findings(["Two", "Three"]) { history in
            try history.send("Three", connection: 3)
            try history.send("Two", connection: 4, status: 503)
        }
        #expect(findings == [])
    }

    @Test func `Of what is not known in full, any later request may be the repetition`() throws {
        let unknown = try Self.findings([], unknown: 2) { history in try history.send("Two", connection: 3) }
        #expect(unknown == ["1"])
        let partly = try Self.findings(["Two"], unknown: 1) { history in try history.send("Two", connection: 3) }
        #expect(partly == ["1"])
        // A request that was refused before its body came.
        let refused = try Self.findings(["Two"]) { history in
            try history.send(connection: 3, body: "", status: 403)
        }
        #expect(refused == [])
    }

    @Test func `Identical notifications are repeated`() throws {
        try Self.expect("identical-notifications", [2, 3]) { history in
            for _ in 0..<3 { try history.send("The same") }
        }
    }

    @Test func `Identical notifications with a collapse identifier are no fault`() throws {
        let findings = try Self.findings { history in
            for _ in 0..<3 { try history.send("The same", headers: ["apns-collapse-id": "news"]) }
        }
        #expect(findings == [])
    }

    @Test func `An apns-id is reused`() throws {
        let id = "00000000-0000-4000-8000-00000000000a"
        try Self.expect("apns-id-reused", [2]) { history in
            for _ in 0..<2 { try history.send(headers: ["apns-id": id]) }
        }
    }

    @Test(arguments: ["10", nil] as [String?])
    func `A silent notification has priority 10`(_ priority: String?) throws {
        try Self.expect("silent-priority-10", [1]) { history in
            try history.send(
                headers: ["apns-push-type": "background", "apns-priority": priority],
                body: #"{"aps":{"content-available":1}}"#)
        }
    }

    @Test func `The push type is missing`() throws {
        try Self.expect("push-type-missing", [1]) { try $0.send(headers: ["apns-push-type": String?.none]) }
    }

    @Test(arguments: [
        (#"{"aps":{},"alert":"Hello"}"#, "alert outside aps"),
        (#"{"aps":{"title":"Hello","sound":"default"}}"#, "title in aps and not in alert"),
    ])
    func `Keys of the payload are in the wrong place`(_ body: String, _ text: String) throws {
        let findings = try Self.findings { try $0.send(body: body) }
        #expect(findings.map(\.id) == ["payload-keys-misplaced"])
        #expect(findings.first?.text.contains(text) == true)
    }

    @Test(arguments: [
        "<c63963fd fdafa1b9>", "{length = 32, bytes = 0xc63963fd fdafa1b9 ... 5f6aa01d a5ddb387 }",
        "%7Blength%20=%2032,%20bytes%20=%200xc639%7D", "32 bytes",
    ])
    func `A device token is the description of its data`(_ token: String) throws {
        try Self.expect("device-token-described", [1]) {
            try $0.send(token: token, status: 400, reason: "BadDeviceToken")
        }
    }

    @Test func `A device token is in upper case`() throws {
        try Self.expect("upper-case-token", [1]) { try $0.send(token: String(repeating: "AB", count: 32)) }
    }

    @Test func `A Live Activity's push is ignored by every device`() throws {
        try Self.expect("live-activity-ignored", [1, 2, 3, 4]) { history in
            func send(_ aps: String, type: String = "liveactivity", status: Int = 200) throws {
                let headers: [String: String?] = ["apns-push-type": type]
                let reason = status == 200 ? nil : "BadMessageId"
                try history.send(headers: headers, body: #"{"aps":{\#(aps)}}"#, status: status, reason: reason)
            }
            let state = #""content-state":{"a":1}"#
            try send(#""event":"update",\#(state)"#)
            try send(#""timestamp":1,\#(state)"#)
            let start = #""event":"start","timestamp":2,\#(state),"attributes-type":"A","attributes":{}"#
            try send(start)
            try send(start + #","alert":{}"#)
            // These are not.
            try send(start + #","alert":{"title":"a"}"#)
            try send(#""event":"update","timestamp":3,\#(state)"#)
            try send(#""event":"end","timestamp":4"#)
            try send(#""alert":"a""#, type: "alert")
            try send(#""event":"update""#, status: 400)
        }
    }

    @Test func `Tokens of Live Activities are mixed up`() throws {
        try Self.expect("live-activity-token", [2, 3, 5, 8]) { history in
            func send(_ event: String, _ token: RequestFacts.ActivityTokenKind? = nil, channel: String? = nil) throws {
                let body = #"{"aps":{"event":"\#(event)","timestamp":\#(history.requests.count)}}"#
                try history.send(body: body, channel: channel, activityToken: token)
            }
            try send("start", .start)
            try send("update", .start)
            try send("end", .start)
            try send("update", .update)
            try send("start", .update)
            // The app's own token may be used for all of them.
            try send("update")
            try send("update", channel: "AAAA")
            try send("start", channel: "AAAA")
        }
    }

    @Test func `The number of requests in a finding is limited`() throws {
        let findings = try Self.findings { history in
            for _ in 0..<100 { try history.send(token: String(repeating: "AB", count: 32)) }
        }
        #expect(findings.first?.requests.count == Finding.maximumEvidence)
        #expect(findings.first?.text.hasPrefix("100 ") == true)
    }

    // MARK: Accepted without being known

    @Test func `What the service did not know gets a note for each kind`() throws {
        try Self.expect("sender-not-verified", [1]) { try $0.send(unknown: [.sender]) }
        try Self.expect("topic-not-known", [2]) {
            try $0.send()
            try $0.send(unknown: [.topic])
        }
        try Self.expect("device-token-not-known", [1]) { try $0.send(unknown: [.deviceToken]) }
    }

    @Test func `An unknown key of several teams is an error`() throws {
        let findings = try Self.findings {
            try $0.send(unknown: [.sender], team: "ABCDE12345")
            try $0.send(unknown: [.sender], team: "ABCDE12346")
        }
        #expect(findings.map(\.id) == ["sender-not-verified", "key-of-several-teams"])
        #expect(findings.last?.severity == .error && findings.last?.requests == [1, 2])
    }

    @Test func `An unknown device token for the topics of several apps is an error, and for those of one app is none`()
        throws
    {
        let several = try Self.findings {
            try $0.send(unknown: [.deviceToken])
            try $0.send(headers: ["apns-topic": "com.example.other"], unknown: [.deviceToken])
        }
        #expect(several.map(\.id) == ["device-token-not-known", "device-token-for-several-apps"])
        let services = try Self.findings {
            try $0.send(unknown: [.deviceToken])
            try $0.send(headers: ["apns-topic": "com.example.shop.voip"], unknown: [.deviceToken])
        }
        #expect(services.map(\.id) == ["device-token-not-known"])
    }
}

package import Matching
import Notifications

/// One request of the journal.
package struct JournalEntry: Sendable {
    /// The request and its outcome. Before the answer, status and reason are not the provider's yet; afterwards they
    /// are those of the answer.
    package internal(set) var facts: RequestFacts
    /// The name of the rehearsal's rule that fired for the request; nil if none did.
    package internal(set) var rule: String?
    /// Whether the answer was sent, so that the status and the reason are those of the answer.
    package internal(set) var isAnswered = false
    /// Whether the entry is complete: the request was answered, or will never be.
    package internal(set) var isComplete = false

    /// Whether the notification is kept for a release by a person, and was not forwarded.
    package internal(set) var isCaptured = false

    init(_ facts: RequestFacts) {
        self.facts = facts
        guard facts.failedHandshake == nil else {
            isComplete = true
            return
        }
        // Do not show the provider API's decision as the status yet: a rehearsal may change the answer.
        self.facts.status = 0
        self.facts.reason = nil
        self.facts.outcome = .pending
        // An array that grew piece by piece has up to twice the memory that it needs.
        if self.facts.body.capacity > facts.body.count + facts.body.count / 8 {
            self.facts.body = facts.body.withUnsafeBufferPointer { Array($0) }
        }
    }

    /// The entry's size in memory.
    var bytes: Int {
        let headers = facts.headers.reduce(2 * facts.headers.capacity * MemoryLayout<RequestFacts.Header>.stride) {
            $0 + Self.bytes(of: $1.name) + Self.bytes(of: $1.value)
        }
        let text = facts.text.map(Self.bytes) ?? 0
        // fits: the sizes of what is in memory
        return JournalLimits.entryBytes + facts.body.capacity + 32 + headers + text
    }

    /// The memory of a text beside the value itself: a short one has none, any other a block with a head.
    private static func bytes(of text: String) -> Int { text.utf8.count <= 15 ? 0 : text.utf8.count + 64 }

    mutating func answer(_ answer: RequestAnswer) {
        isAnswered = true
        isComplete = true
        facts.status = answer.status
        facts.reason = answer.reason
        if !answer.isSuccess, !answer.hidesAcceptance, facts.outcome == .pending { facts.outcome = .rejected }
    }

    /// Sets the outcome, if it is later than the present one.
    /// - Returns: whether the entry changed.
    mutating func become(_ outcome: RequestOutcome) -> Bool {
        guard facts.outcome != outcome, mayBecome(outcome) else { return false }
        facts.outcome = outcome
        return true
    }

    /// The events of one notification may come from several threads and out of order. So an event must not replace
    /// the outcome of a later one.
    private func mayBecome(_ outcome: RequestOutcome) -> Bool {
        switch facts.outcome {
        case .pending: true
        case .stored: outcome != .pending
        // A rehearsal may answer with a rejection although the notification was accepted, so it may still be
        // delivered.
        case .rejected: outcome == .delivered || outcome == .stored
        // The acknowledgement may be late: the device had the notification already when another event ended it.
        case .replaced, .expired, .dropped: outcome == .delivered
        case .delivered, .lost, .failed: false
        }
    }
}

extension JournalEntry {
    /// The entry as docs/testing.md describes it, on one line.
    package var json: String {
        let connection = facts.interface == .management ? "management" : "c\(facts.connection)"
        var text = #"{"number":\#(facts.number),"time":\#(facts.time.milliseconds),"connection":"\#(connection)""#
        text += #","environment":"\#(facts.environment.rawValue)","protocol":"\#(facts.interface.rawValue)""#
        func add(_ name: String, _ value: String?) {
            if let value { text += #","\#(name)":"# + JSONString.quoted(value) }
        }
        add("serverName", facts.serverName)
        if let handshake = facts.failedHandshake {
            if !handshake.address.isEmpty { add("client", handshake.address) }
            add("alert", handshake.result.alert)
            if let offered = handshake.result.offered {
                text += #","protocols":["# + offered.map(JSONString.quoted).joined(separator: ",") + "]"
            }
            add("cause", handshake.result.cause)
            add("outcome", facts.outcome.rawValue)
            add("rule", rule)
            return text + "}"
        }
        add("team", facts.team?.rawValue)
        switch facts.sender {
        case .key(let id): add("keyID", id.rawValue)
        case .certificate(let serial): add("certificate", serial.description)
        case nil: break
        }
        if facts.unknown.contains(.sender) { text += #","unverified":true"# }
        text += #","headers":"# + headers
        add("token", facts.token)
        add("device", facts.device?.description)
        add("activityToken", facts.activityToken?.rawValue)
        add("topic", facts.topic)
        add("channel", facts.channel)
        add("subscription", facts.subscription)
        if let payload {
            text += #","payload":"# + payload
        } else if !facts.body.isEmpty {
            add("body", String(decoding: facts.body, as: UTF8.self))
        }
        if let bytes = facts.messageBytes { text += #","bytes":\#(bytes)"# }
        add("text", facts.text)
        if let bytes = facts.bodyBytes { text += #","bodyBytes":\#(bytes)"# }
        if isAnswered { text += #","status":\#(facts.status)"# }
        add("reason", facts.reason)
        add("apnsID", facts.apnsID.textAsSent.span.text)
        // The management of channels ends with its answer.
        if facts.interface != .channels || facts.outcome == .rejected { add("outcome", facts.outcome.rawValue) }
        add("rule", rule)
        if facts.isForwarded { text += #","forwarded":true"# }
        add("own", facts.ownAnswer)
        if isCaptured { text += #","captured":true"# }
        return text + "}"
    }

    /// The payload as it was sent, on one line: with its keys in their order and its numbers as they were written. nil if
    /// the body is not a JSON dictionary.
    private var payload: String? {
        guard facts.payload != nil else { return nil }
        var line: [UInt8] = []
        line.reserveCapacity(facts.body.count)
        var (isInString, isEscaped) = (false, false)
        for byte in facts.body {
            // A string of valid JSON has no control characters.
            if !isInString, byte <= UInt8(ascii: " ") { continue }
            if byte == UInt8(ascii: "\""), !isEscaped { isInString.toggle() }
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// The headers by their names. The values of a repeated name are joined in order (RFC 9110, 5.3).
    private var headers: String {
        var values: [String: String] = [:]
        for header in facts.headers {
            values[header.name] = values[header.name].map { $0 + ", " + header.value } ?? header.value
        }
        let members = values.sorted { $0.key < $1.key }.map {
            JSONString.quoted($0.key) + ":" + JSONString.quoted($0.value)
        }
        return "{" + members.joined(separator: ",") + "}"
    }
}

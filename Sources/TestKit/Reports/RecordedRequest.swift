package import Matching
import Notifications

/// A recorded request, with values that several rules use.
package struct RecordedRequest: Sendable {
    package let facts: RequestFacts
    /// Whether the provider got an answer.
    package let isAnswered: Bool
    /// Whether a rehearsal has decided what the provider got.
    package let isRehearsed: Bool
    let headers: [String: String]

    /// - Parameter facts: the request, with its number and the status of its answer.
    package init(_ facts: RequestFacts, isAnswered: Bool = true, isRehearsed: Bool = false) {
        self.facts = facts
        self.isAnswered = isAnswered
        self.isRehearsed = isRehearsed
        headers = Dictionary(facts.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    /// The destination and the content. Two requests that are equal in both are attempts to send the same
    /// notification.
    var content: Content {
        Content(
            token: facts.token, topic: facts.topic.map { ExactText($0) },
            collapseID: facts.collapseID.map { ExactText($0) }, body: facts.body)
    }

    struct Content: Hashable {
        let token: String?
        let topic: ExactText?
        let collapseID: ExactText?
        let body: [UInt8]
    }

    /// Whether the request was rejected for a reason that a further attempt does not change.
    var isRejectedForGood: Bool {
        isAnswered && (400..<500).contains(facts.status) && ![403, 408, 410, 429].contains(facts.status)
    }

    /// Whether the provider should send the request again later.
    var isRejectedForNow: Bool { isAnswered && (facts.status == 429 || (500..<600).contains(facts.status)) }

    var isHTTP2: Bool { facts.interface == .http2 }

    /// The algorithm that the provider token's header names; nil if there is no readable token.
    var tokenAlgorithm: String? {
        tokenMembers(0)?["alg"]?.string
    }

    /// The members of a part of the provider token: 0 is its header, and 1 its claims.
    private func tokenMembers(_ index: Int) -> JSONMembers? {
        guard let token = headers["authorization"]?.split(separator: " ").last else { return nil }
        let parts = token.split(separator: ".")
        guard parts.count >= 2, let bytes = Base64URL.decoded(Array(parts[index].utf8)[...]) else { return nil }
        return JSONValue(bytes)?.members
    }

    /// When the provider token was made by the client's clock, in seconds since 1970; nil if there is no readable token.
    var tokenIssued: Double? { tokenMembers(1)?["iat"]?.double }

    /// When the request came, in milliseconds of the machine's clock. Intervals between requests are measured with it,
    /// because a client does not know that a test advanced the service's clock or the team's.
    var time: UInt64 { facts.machineTime.milliseconds }

    /// By how many seconds a test had advanced the clock that judged the request.
    var ahead: Double { Double(facts.time.milliseconds - min(facts.time.milliseconds, time)) / 1000 }
}

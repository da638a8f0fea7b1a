import Matching
import Notifications

// Where an upstream answers otherwise than this service would (docs/gateway.md).
extension ClientReport {
    /// A finding for each pair of answers. It is not about the client.
    static func differences(_ requests: [RecordedRequest]) -> [Finding] {
        groups(requests) { request in request.facts.ownAnswer.map { Pair(own: $0, other: request.answer) } }
            .map { pair, requests in
                Finding(
                    "upstream-differs", .note, section: "",
                    "The upstream answered \(pair.other) to \(requests.count) requests, and this service would have "
                        + "answered \(pair.own).",
                    advice: "Believe the upstream, and report the difference to Carillon's authors if it is Apple's.",
                    requests)
            }
    }

    private struct Pair: Hashable {
        let own: String
        let other: String
    }
}

extension RecordedRequest {
    /// The reason of the answer, or "accepted".
    fileprivate var answer: String { facts.reason ?? (facts.status == 200 ? "accepted" : "\(facts.status)") }
}

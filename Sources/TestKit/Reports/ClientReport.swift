package import Matching
import Notifications

/// Compares what a team's clients did with the Guide and with Apple's present advice. It is a pure function of
/// recorded requests.
package enum ClientReport {
    /// - Parameters:
    ///   - requests: the requests, in the order in which they came.
    ///   - unusedConnections: how many connections ended without a request.
    ///   - unprocessed: the requests that came when the service was ending their connections.
    package static func findings(
        _ requests: [RecordedRequest],
        unusedConnections: Int = 0,
        unprocessed: [UnprocessedRequests] = [],
    ) -> [Finding] {
        let (before, after) = (credentials + connections, notifications + firstSight)
        return before.flatMap { $0(requests) } + unused(unusedConnections) + repetitions.flatMap { $0(requests) }
            + lostAtGoAway(unprocessed, requests) + after.flatMap { $0(requests) } + differences(requests)
    }

    /// A function that finds faults of one kind, or of a few related kinds.
    typealias Rule = @Sendable ([RecordedRequest]) -> [Finding]

    /// Groups requests by a key. Requests in a group keep their order, and groups are ordered by their first request.
    static func groups<Key: Hashable>(
        _ requests: some Sequence<RecordedRequest>,
        by key: (RecordedRequest) -> Key?,
    ) -> [(key: Key, requests: [RecordedRequest])] {
        var places: [Key: Int] = [:]
        var groups: [(key: Key, requests: [RecordedRequest])] = []
        for request in requests {
            guard let key = key(request) else { continue }
            if let place = places[key] {
                groups[place].requests.append(request)
            } else {
                places[key] = groups.count
                groups.append((key, [request]))
            }
        }
        return groups
    }

    /// Makes a finding; returns nil if no request shows it.
    static func finding(
        _ id: String,
        _ severity: Finding.Severity,
        section: String,
        advice: String,
        _ requests: [RecordedRequest],
        _ text: (Int) -> String,
    ) -> [Finding] {
        guard !requests.isEmpty else { return [] }
        return [Finding(id, severity, section: section, text(requests.count), advice: advice, requests)]
    }
}

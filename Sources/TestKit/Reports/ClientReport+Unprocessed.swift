import Matching

// The finding about requests that came when the service was ending their connection (Guide, 2.3.3).
extension ClientReport {
    /// A person reads only the first connections.
    private static let maximumConnections = 5

    /// Finds requests that were above the last stream of a GOAWAY, or refused before it, and were not sent again.
    ///
    /// The GOAWAY told the client that they were not processed. The number is never too great: a request counts as sent
    /// again if an equal one came later on another connection, and of a request that is not known in full, if any came.
    static func lostAtGoAway(_ unprocessed: [UnprocessedRequests], _ requests: [RecordedRequest]) -> [Finding] {
        // What was sent again and was not processed once more is there twice, but it is one notification.
        var known: [Int: Int] = [:]
        var (unknown, connections): (Int, [UInt64]) = (0, [])
        // Once, and not for each connection: it reads all bodies.
        let sent = unprocessed.isEmpty ? [] : requests.map { SentRequest($0.facts) }
        for ended in unprocessed {
            let missing = missing(ended, among: sent)
            for (fingerprint, count) in missing.known { known[fingerprint] = max(known[fingerprint] ?? 0, count) }
            unknown = max(unknown, missing.unknown)
            if missing.unknown > 0 || !missing.known.isEmpty { connections.append(ended.connection) }
        }
        let count = known.values.reduce(unknown, +)
        guard count > 0 else { return [] }
        let shown = connections.prefix(maximumConnections).map { "c\($0)" }.joined(separator: ", ")
        return [
            Finding(
                "goaway-never-resent", .error, section: "2.3.3",
                "\(count) notifications came above the last stream of a GOAWAY (connection \(shown)), and were not sent "
                    + "again until now.",
                advice:
                    "Send again on another connection what is above the last stream of the GOAWAY: it was not processed.",
                numbers: [])
        ]
    }

    /// How many of the requests have no equal one that came later on another connection.
    private static func missing(
        _ ended: UnprocessedRequests, among requests: [SentRequest],
    ) -> (known: [Int: Int], unknown: Int) {
        var counts: [Int: Int] = [:]
        for fingerprint in ended.fingerprints { counts[fingerprint, default: 0] += 1 }
        // The requests that may be any of them: those that are equal to none, and those of which the body is not known.
        var (others, unread) = (0, 0)
        for request in requests where request.number > ended.after && request.connection != ended.connection {
            if request.isEmpty { unread += 1 }
            if let count = counts[request.fingerprint], count > 0 {
                counts[request.fingerprint] = count - 1
            } else {
                others += 1
            }
        }
        var known: [Int: Int] = [:]
        for (fingerprint, count) in counts.sorted(by: { $0.key < $1.key }) where count > 0 {
            let excused = min(count, unread)
            unread -= excused
            if count > excused { known[fingerprint] = count - excused }
        }
        return (known, max(0, ended.unknown - others))
    }
}

/// What is compared of a request in the journal.
private struct SentRequest {
    let number: UInt64
    let connection: UInt64
    let fingerprint: Int
    let isEmpty: Bool

    init(_ facts: RequestFacts) {
        number = facts.number
        connection = facts.connection
        fingerprint = UnprocessedRequests.fingerprint(token: facts.token ?? "", body: facts.body)
        isEmpty = facts.body.isEmpty
    }
}

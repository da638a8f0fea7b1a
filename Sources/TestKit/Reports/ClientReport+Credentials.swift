import Matching
import Notifications

// Findings about the use of provider tokens (Guide, 2.3.1).
extension ClientReport {
    static let credentials: [Rule] = [tokenChurn, oldTokens, wrongAlgorithms]

    /// The shortest time that APNs allows between two provider tokens, in seconds.
    private static let shortestTokenLife = 1200.0

    /// The longest time that APNs accepts a provider token for, in seconds.
    private static let longestTokenLife = 3600.0

    /// The longest time in which a client may go on with a provider token that was refused as too old, in milliseconds:
    /// until it has the answer, and a new token.
    private static let renewal: UInt64 = 1000

    /// Finds provider tokens of one key that were made less than twenty minutes after one another.
    private static let tokenChurn: Rule = { requests in
        var shown: [RecordedRequest] = []
        for (_, requests) in groups(requests.filter(\.isHTTP2), by: { $0.facts.sender }) {
            let tokens = groups(requests, by: \.tokenIssued).map { TokenUse($0.key, $0.requests) }
                .sorted { $0.issued < $1.issued }
            for (index, one) in tokens.enumerated() {
                // Clients that share a key have a provider token each.
                guard let other = tokens[(index + 1)...].first(where: { !one.isOfAnotherClient($0) }),
                    other.issuedByJudge - one.issuedByJudge < shortestTokenLife
                else { continue }
                // A client makes a new provider token if the old one was refused as too old, or by a rehearsal.
                if one.requests.contains(where: { $0.isRefusedAsTooOld || $0.isRehearsed && $0.facts.status == 403 }) {
                    continue
                }
                shown.append(other.requests[0])
            }
        }
        // A rehearsal may give this answer whatever the ages of the provider tokens are.
        let refused = requests.filter { $0.facts.reason == "TooManyProviderTokenUpdates" && !$0.isRehearsed }
        let counted = Set(shown.map(\.facts.number))
        shown += refused.filter { !counted.contains($0.facts.number) }
        return finding(
            "provider-token-churn", refused.isEmpty ? .warning : .error, section: "2.3.1",
            advice: "Make one provider token for all requests and connections, and keep it for 20 to 60 minutes.", shown
        ) { "Provider tokens were made less than 20 minutes apart, \($0) times." }
    }

    /// A provider token, and the requests that had it.
    private struct TokenUse {
        let issued: Double
        let requests: [RecordedRequest]
        private let connections: Set<UInt64>

        init(_ issued: Double, _ requests: [RecordedRequest]) {
            (self.issued, self.requests) = (issued, requests)
            connections = Set(requests.map(\.facts.connection))
        }

        /// When it was made, by the clock that judged its first requests: a test may advance the clock between two tokens.
        var issuedByJudge: Double { issued + (requests.map(\.ahead).min() ?? 0) }

        /// Whether a newer provider token belongs to another client: both are in use at the same time, on connections of
        /// their own. A client that makes a new token stops using the old one.
        func isOfAnotherClient(_ newer: TokenUse) -> Bool {
            guard let first = requests.first?.facts.number, let last = requests.last?.facts.number,
                let newerFirst = newer.requests.first?.facts.number, let newerLast = newer.requests.last?.facts.number
            else { return false }
            return newerFirst < last && first < newerLast && connections.isDisjoint(with: newer.connections)
        }
    }

    /// Finds requests whose provider token was too old. If it became so because a test advanced a clock, the client
    /// learns it from the first answer, so only what it sends with the token after that is found.
    private static let oldTokens: Rule = { requests in
        var shown: [RecordedRequest] = []
        // A rehearsal may answer so whatever the token's age is.
        let refused = requests.filter { $0.isRefusedAsTooOld && !$0.isRehearsed }
        for (_, requests) in groups(refused, by: { $0.headers["authorization"] ?? "" }) {
            let first = requests[0].time
            var known: Set<RecordedRequest.Content> = []
            for request in requests {
                let isRepeated = !known.insert(request.content).inserted
                let age = request.tokenIssued.map { Double(request.time) / 1000 - $0 }
                let isOldForClient = request.ahead == 0 || age.map { $0 >= longestTokenLife } == true
                if isOldForClient || isRepeated || request.time > first + renewal { shown.append(request) }
            }
        }
        return finding(
            "provider-token-too-old", .error, section: "2.3.1",
            advice: "Make a new provider token before the old one is an hour old, and send again with it.",
            shown.sorted { $0.facts.number < $1.facts.number }
        ) { "\($0) requests had a provider token that was more than an hour old." }
    }

    /// Finds provider tokens whose header names another algorithm than ES256. The service accepts some of them, because it
    /// goes by the signature.
    private static let wrongAlgorithms: Rule = { requests in
        let wrong = requests.filter { $0.isHTTP2 && $0.tokenAlgorithm.map { $0 != "ES256" } == true }
        return finding(
            "provider-token-algorithm", .warning, section: "2.3.1",
            advice: "Write \"alg\":\"ES256\" into the provider token's header: the documents allow no other value.",
            // Show one request of each provider token.
            groups(wrong, by: { $0.headers["authorization"] }).map { $0.requests[0] }
        ) { "\($0) provider tokens named another algorithm than ES256 in their header." }
    }
}

extension RecordedRequest {
    fileprivate var isRefusedAsTooOld: Bool { facts.reason == "ExpiredProviderToken" }
}

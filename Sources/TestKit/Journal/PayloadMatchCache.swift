import Matching

/// A match with the results of comparing the payloads of the entries up to a number.
///
/// Comparing a payload parses it, and the provider APIs wait for the journal's lock at each request. So what an operation under
/// the lock needs of the payloads is found out before it.
struct PayloadMatchCache {
    /// The number of the last entry that was examined.
    private(set) var last: UInt64 = 0
    private let match: RequestMatch
    /// The same without the payload.
    private let others: RequestMatch
    /// The numbers of the examined entries that match.
    private var numbers: Set<UInt64> = []

    init(_ match: RequestMatch) {
        self.match = match
        var others = match
        others.payload = nil
        self.others = others
    }

    var comparesPayloads: Bool { match.payload != nil }

    /// Compares an entry's payload, which does not change later. What else it has may change, so that is not compared.
    mutating func examine(_ facts: RequestFacts) {
        last = facts.number
        if match.matchesPayload(of: facts) { numbers.insert(facts.number) }
    }

    /// Whether a request matches. The payload of one that was not examined is parsed.
    func matches(_ facts: RequestFacts) -> Bool {
        guard comparesPayloads, facts.number <= last else { return match.matches(facts) }
        return numbers.contains(facts.number) && others.matches(facts)
    }
}

import Matching

/// The requests that differ from a match in the fewest keys. Of equals, the newest come first. If the match names a team,
/// those of other teams come last.
struct NearestRequests {
    typealias Request = (entry: JournalEntry, differs: [String])

    private let match: RequestMatch
    private var best: [(request: Request, distance: Int)] = []

    init(_ match: RequestMatch) { self.match = match }

    /// The nearest first.
    var requests: [Request] { best.map(\.request) }

    /// Compares an entry that is newer than those before.
    mutating func add(_ entry: JournalEntry) {
        let differs = match.differences(from: entry.facts)
        // A request of another team says least: it may be that of a test that runs at the same time.
        let isOtherTeams = match.team != nil && entry.facts.team != nil && entry.facts.team != match.team
        let distance = differs.count + (isOtherTeams ? RequestMatch.Member.allCases.count : 0)
        let place = best.firstIndex { $0.distance >= distance } ?? best.count
        guard place < JournalLimits.maximumNearest else { return }
        best.insert(((entry, differs), distance), at: place)
        if best.count > JournalLimits.maximumNearest { best.removeLast() }
    }
}

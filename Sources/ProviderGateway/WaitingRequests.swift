import DequeModule
import HTTP2

/// Requests of one connection that have ended and wait for their turn, because a key has to be looked for.
struct WaitingRequests {
    private var streams = Deque<StreamID>()
    /// How many of them waited when the search began that is under way; what came later needs another one.
    private var sought: Int?

    var isEmpty: Bool { streams.isEmpty }
    var first: StreamID? { streams.first }
    var isSearching: Bool { sought != nil }

    func contains(_ stream: StreamID) -> Bool { !streams.isEmpty && streams.contains(stream) }

    mutating func append(_ stream: StreamID) { streams.append(stream) }
    mutating func removeFirst() { streams.removeFirst() }

    mutating func beginSearch() { sought = streams.count }

    /// - Returns: How many waited when it began.
    mutating func endSearch() -> Int {
        defer { sought = nil }
        return sought ?? 0
    }
}

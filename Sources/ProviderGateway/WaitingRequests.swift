import DequeModule
import HTTP2

/// Requests of one connection that have ended and wait in order, because a key is being looked up.
struct WaitingRequests {
    private var streams = Deque<StreamID>()
    /// The number of requests that waited when the current look-up began. Later ones need another look-up.
    private var sought: Int?

    var isEmpty: Bool { streams.isEmpty }
    var first: StreamID? { streams.first }
    var isSearching: Bool { sought != nil }

    func contains(_ stream: StreamID) -> Bool { !streams.isEmpty && streams.contains(stream) }

    mutating func append(_ stream: StreamID) { streams.append(stream) }
    mutating func removeFirst() { streams.removeFirst() }

    mutating func beginSearch() { sought = streams.count }

    /// Ends the look-up.
    /// - Returns: The number of requests that waited when it began.
    mutating func endSearch() -> Int {
        defer { sought = nil }
        return sought ?? 0
    }
}

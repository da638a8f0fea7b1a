import DequeModule
import HTTP2

/// Requests of one connection that have ended and wait, in their order, until a key was looked up or an app was made.
struct WaitingRequests {
    private(set) var streams = Deque<StreamID>()
    /// How many requests waited when the present look-up began. Later requests need another look-up.
    private var sought: Int?

    var isEmpty: Bool { streams.isEmpty }
    var first: StreamID? { streams.first }
    var isSearching: Bool { sought != nil }

    func contains(_ stream: StreamID) -> Bool { !streams.isEmpty && streams.contains(stream) }

    mutating func append(_ stream: StreamID) { streams.append(stream) }
    mutating func removeFirst() { streams.removeFirst() }

    mutating func beginSearch() { sought = streams.count }

    /// Ends the look-up.
    /// - Returns: How many requests waited when the look-up began.
    mutating func endSearch() -> Int {
        defer { sought = nil }
        return sought ?? 0
    }
}

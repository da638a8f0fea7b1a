/// The requests that a client sent on a connection that was ending: above the last stream of the GOAWAY, or refused before
/// it. None of them was processed, and each can be sent again elsewhere (RFC 9113, 6.8). It is a value.
package struct UnprocessedStreams: Sendable {
    /// What is known of a request. Nothing of it was checked.
    package struct Request: Sendable, Hashable {
        /// The value of `:path`; nil if it has none.
        package internal(set) var path: [UInt8]?
        package internal(set) var body: [UInt8] = []
        /// Whether the whole body has come.
        package internal(set) var isComplete = false
    }

    /// The largest number of requests that are kept. A client with the announced number of streams has no more.
    static let maxRequests = 1_000
    /// The most bytes of all bodies and paths together. The requests that have no room are only counted.
    static let maxBytes = 256 << 10

    /// The number of requests.
    package private(set) var count = 0
    private var kept: [StreamID: Request] = [:]
    private var newest = StreamID.connection
    private var bytes = 0

    init() {}

    /// The requests that are kept, in no particular order. There may be fewer than `count`.
    package var requests: [Request] { Array(kept.values) }

    /// A stream begins, or has trailers.
    mutating func began(_ stream: StreamID) {
        guard stream > newest else { return }
        newest = stream
        count += 1
        if kept.count < Self.maxRequests { kept[stream] = Request() }
    }

    func keeps(_ stream: StreamID) -> Bool { kept[stream] != nil }

    mutating func setPath(_ path: [UInt8], of stream: StreamID) {
        if hasRoom(path.count, for: stream) { kept[stream]?.path = path }
    }

    mutating func append(_ body: some Collection<UInt8>, to stream: StreamID) {
        if hasRoom(body.count, for: stream) { kept[stream]?.body.append(contentsOf: body) }
    }

    mutating func ended(_ stream: StreamID) { kept[stream]?.isComplete = true }

    /// Keeps no more of a request than its number.
    mutating func forget(_ stream: StreamID) { kept[stream] = nil }

    private mutating func hasRoom(_ count: Int, for stream: StreamID) -> Bool {
        guard kept[stream] != nil else { return false }
        guard bytes + count <= Self.maxBytes else {
            forget(stream)
            return false
        }
        bytes += count
        return true
    }
}

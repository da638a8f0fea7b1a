import Delivery
import DequeModule

/// The broadcasts that wait to be written to the streams of one event loop, and the ends of streams that wait for them.
///
/// - Note: a value, so that a test needs no connection. `Stream` is ``DeviceStream``.
struct BroadcastQueue<Stream> {
    enum Entry {
        case broadcast(BroadcastMessage, Stream, term: UInt64)
        case end(StreamEnd, Stream)
    }

    private var entries = Deque<Entry>()
    /// Whether a task of the event loop writes them.
    private var isWriting = false

    /// - Parameter term: the term of the lease (``HoldFence``).
    /// - Returns: Whether to begin to write.
    mutating func append(_ broadcast: BroadcastMessage, to stream: Stream, in term: UInt64) -> Bool {
        entries.append(.broadcast(broadcast, stream, term: term))
        defer { isWriting = true }
        return !isWriting
    }

    /// Makes the end of a stream wait for the broadcasts that wait already: the device was connected when they were
    /// sent, and nobody keeps a broadcast of a channel that stores nothing.
    /// - Returns: false if no broadcast waits, so that the stream can end now.
    mutating func append(_ end: StreamEnd, of stream: Stream) -> Bool {
        assert(isWriting || entries.isEmpty, "Broadcasts wait, and nobody writes them.")
        guard isWriting else { return false }
        entries.append(.end(end, stream))
        return true
    }

    /// - Returns: nil if nothing waits. The next broadcast then has to begin to write again.
    mutating func next() -> Entry? {
        assert(isWriting, "Nobody began to write.")
        let next = entries.popFirst()
        if next == nil {
            isWriting = false
            // The memory that a broadcast to many devices took is not needed until the next one.
            entries = []
        }
        return next
    }
}

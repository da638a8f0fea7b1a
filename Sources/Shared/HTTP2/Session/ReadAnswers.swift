/// Early answers whose streams are reset when the peer has read them: a PING follows the answers, and the peer
/// acknowledges it after it has read them (RFC 9113, 6.7). One PING at a time is under way for all of them.
struct ReadAnswers {
    /// The payload of that PING ("answered" in ASCII). The application is not told of its acknowledgement.
    static let pingPayload: UInt64 = 0x616e_7377_6572_6564

    enum State: Hashable {
        case idle
        /// The PING was submitted after the answers of these streams.
        case asked([StreamID])
        /// The peer has read the answers, and a timer runs.
        case read([StreamID])
    }

    private(set) var state = State.idle
    /// Whether an answer was sent since the last PING.
    private var hasMore = false

    /// Whether a PING is due.
    var isPingDue: Bool { hasMore && state == .idle }

    /// An answer was sent completely.
    mutating func answerSent() { hasMore = true }

    /// The PING is submitted. If no stream is left, it need not be.
    mutating func ask(about streams: [StreamID]) -> Bool {
        hasMore = false
        guard !streams.isEmpty else { return false }
        state = .asked(streams)
        return true
    }

    /// The peer has acknowledged the PING. Returns whether the timer has to start.
    mutating func acknowledged() -> Bool {
        guard case .asked(let streams) = state else { return false }
        state = .read(streams)
        return true
    }

    /// The timer has ended. Returns the streams to reset.
    mutating func timePassed() -> [StreamID] {
        guard case .read(let streams) = state else { return [] }
        state = .idle
        return streams
    }
}

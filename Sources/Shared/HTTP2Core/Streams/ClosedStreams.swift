/// What is remembered of streams that are closed, to tell what was under way when we reset a stream from what the peer must
/// not send (RFC 9113, 5.1). It is bounded: what is forgotten is taken for the harmless one of the two.
struct ClosedStreams {
    /// The most streams that we reset whose numbers are remembered: 1 KiB. More of them are under way only if the peer
    /// has opened far more streams than we announced.
    static let maxResets = 256
    /// The most gaps in the numbers of the peer's streams that are remembered. Honest clients leave none.
    static let maxGaps = 16

    /// The newest streams that we reset, in the order of the resets from `oldest` on.
    private var resets: [StreamID] = []
    private var oldest = 0
    /// The greatest stream that we reset and do not remember.
    private var forgotten = StreamID.connection
    /// The first and the last number of each gap.
    private var gaps: [(first: StreamID, last: StreamID)] = []

    /// We have reset a stream. The peer may have sent more on it before it knows.
    mutating func wasReset(_ stream: StreamID) {
        guard resets.count == Self.maxResets else { return resets.append(stream) }
        forgotten = max(forgotten, resets[oldest])
        resets[oldest] = stream
        oldest = (oldest + 1) % Self.maxResets
    }

    /// The peer has opened a stream.
    /// - Parameter last: the highest stream that it had opened before.
    mutating func opened(_ stream: StreamID, after last: StreamID) {
        // The first stream of a client is 1.
        let next = last == .connection ? 1 : last.rawValue + 2  // fits: 31 bits
        guard stream.rawValue > next, gaps.count < Self.maxGaps else { return }
        gaps.append((StreamID(next), StreamID(stream.rawValue - 2)))  // fits: greater than next, which is at least 1
    }

    /// Whether frames of a closed stream may have been under way when we reset it.
    func mayBeUnderWay(_ stream: StreamID) -> Bool { stream <= forgotten || resets.contains(stream) }

    /// Whether the peer has left the number of the stream out (RFC 9113, 5.1.1).
    func wasSkipped(_ stream: StreamID) -> Bool { gaps.contains { $0.first <= stream && stream <= $0.last } }
}

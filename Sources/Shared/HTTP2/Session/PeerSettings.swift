/// The peer's settings that matter to an application (RFC 9113, 6.5.2).
package struct PeerSettings: Hashable, Sendable {
    /// The number of streams that we may have open; nil if the peer sets no limit.
    package var maxConcurrentStreams: Int?
    /// The largest header list that the peer accepts, in bytes; nil if the peer sets no limit.
    package var maxHeaderListBytes: Int?
    /// The flow-control window of a new stream, in bytes.
    package var streamWindowBytes: Int
    /// The largest frame that the peer accepts, in bytes.
    package var maxFrameBytes: Int
}

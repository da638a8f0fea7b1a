/// The peer's settings that matter to an application (RFC 9113, 6.5.2).
package struct PeerSettings: Hashable, Sendable {
    /// How many streams we may have open; nil where the peer sets no limit.
    package var maxConcurrentStreams: Int?
    /// The header list that the peer accepts, in bytes; nil where the peer sets no limit.
    package var maxHeaderListBytes: Int?
    /// The flow-control window of a new stream, in bytes.
    package var streamWindowBytes: Int
    /// The greatest frame that the peer accepts, in bytes.
    package var maxFrameBytes: Int
}

import NIOCore

/// The unsent bytes of one body, between the application and the endpoint.
final class OutboundBody {
    let stream: StreamID
    /// The unsent bytes. Small writes are appended, so that many of them go into one frame.
    private(set) var buffer = ByteBuffer()
    /// Whether the body is complete.
    var isFinished = false
    /// Whether it is in the session's list of bodies that wait for their turn.
    var isQueued = false
    /// The high mark was reached. The application waits for `writable`.
    var isAboveMark = false
    /// The number of unsent bytes.
    var bytes: Int { buffer.readableBytes }

    init(stream: StreamID) { self.stream = stream }

    func append(_ more: ByteBuffer) {
        if buffer.readableBytes == 0 {
            buffer = more
        } else {
            buffer.discardReadBytes()
            buffer.writeImmutableBuffer(more)
        }
    }

    /// Drops bytes that were sent.
    func drop(_ count: Int) {
        buffer.moveReaderIndex(forwardBy: min(count, buffer.readableBytes))
        // Release the memory of an empty buffer, because streams stay open for days.
        if buffer.readableBytes == 0 { buffer = ByteBuffer() }
    }

    /// Drops the unsent bytes, and returns their number.
    func discard() -> Int {
        defer { buffer = ByteBuffer() }
        return buffer.readableBytes
    }
}

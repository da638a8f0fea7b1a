import NIOCore

/// The unsent bytes of one body, between the application and the protocol.
///
/// It is a class, because libnghttp2 has a pointer to it as data source. The session's table keeps it while the stream
/// is open, and libnghttp2 never uses a data source after it has closed the stream.
final class OutboundBody {
    /// The stream's number. A client gets it from libnghttp2 later.
    var stream: StreamID
    /// The unsent bytes. Small writes are appended, so that many of them go into one frame.
    private(set) var buffer = ByteBuffer()
    /// Whether the body is complete.
    var isFinished = false
    /// Whether libnghttp2 was told that there is nothing to send. If so, it has to be told when there is.
    var isDeferred = false
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

    /// Moves bytes to the end of the session's output.
    func move(_ count: Int, to output: inout ByteBuffer) {
        output.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { target in
            buffer.withUnsafeReadableBytes { source in
                let count = min(count, source.count)
                target.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[..<count]))
                return count
            }
        }
        drop(count)
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

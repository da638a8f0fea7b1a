import NIOCore

/// The bytes of one body on their way out, between the application and libnghttp2.
///
/// A class, because libnghttp2 holds a pointer to it as its data source. It lives in the session's table for as long as
/// the stream is open there, and libnghttp2 never asks a stream's source after it has closed the stream.
final class OutboundBody {
    /// The stream's number. A client gets it from libnghttp2 later.
    var stream: StreamID
    /// What waits to be sent. Small writes behind others are copied to the end of what is there, so that many of them
    /// make one frame.
    private(set) var buffer = ByteBuffer()
    /// No more will be written.
    var isFinished = false
    /// libnghttp2 was told that there is nothing to send and waits to be told otherwise.
    var isDeferred = false
    /// The high mark was reached, and the application waits for `writable`.
    var isAboveMark = false
    /// How much waits.
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
        buffer.moveReaderIndex(forwardBy: min(count, buffer.readableBytes))
        // An empty buffer must not keep its memory: streams stay open for days.
        if buffer.readableBytes == 0 { buffer = ByteBuffer() }
    }

    /// Drops what waits, and says how much that was.
    func discard() -> Int {
        defer { buffer = ByteBuffer() }
        return buffer.readableBytes
    }
}

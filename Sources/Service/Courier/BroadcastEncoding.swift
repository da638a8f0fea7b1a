import NIOCore

/// The lines of broadcasts that are being written to many devices, so that each is encoded once.
struct BroadcastEncoding {
    private var lines: [UInt64: ByteBuffer] = [:]

    /// The largest number of lines: 400 KB at most. Broadcasts to large audiences are written in turns if they are sent
    /// at the same time, and more than a few of them at once are rare. Beyond it, lines are encoded again.
    static let keptLines = 64

    /// Returns a broadcast's line.
    mutating func line(of number: UInt64, _ encode: () -> ByteBuffer) -> ByteBuffer {
        if let line = lines[number] { return line }
        if lines.count >= Self.keptLines { lines = [:] }
        let line = encode()
        lines[number] = line
        return line
    }

    /// Releases the memory, because nothing waits any more.
    mutating func removeAll() { lines = [:] }
}

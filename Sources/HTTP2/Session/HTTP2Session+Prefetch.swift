import CNghttp2
import NIOCore

// Where there are thousands of sessions, what belongs to one of them has not been looked at for long, and lies far from the
// processor. Whoever goes through it waits for one line of memory after the other; asked for beforehand, they come together.
extension HTTP2Session {
    /// In bytes: what a processor fetches at a time. Where it is more, some are asked for twice.
    private static let lineBytes = 64
    /// In bytes: the beginning of a session of this type, where what each write looks at stands together.
    private static let ownBytes = 256
    /// In bytes: libnghttp2 1.52 has its session in one piece of 2.9 KB.
    private static let libraryBytes = 2_944

    /// Asks for the memory that the next write goes through.
    package func prefetch() {
        Self.prefetch(Unmanaged.passUnretained(self).toOpaque(), Self.ownBytes)
        prefetchLibrary()
    }

    /// Asks for libnghttp2's session.
    @inline(__always)
    func prefetchLibrary() {
        if let library { Self.prefetch(UnsafeRawPointer(library), Self.libraryBytes) }
    }

    @inline(__always)
    private static func prefetch(_ start: UnsafeRawPointer, _ bytes: Int) {
        for offset in stride(from: 0, to: bytes, by: lineBytes) { carillon_prefetch(start + offset) }
    }
}

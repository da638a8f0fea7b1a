import CNghttp2

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Where one of libnghttp2's sessions has its memory from, so that the greatest piece can go back to the system while
/// the session is silent.
///
/// libnghttp2 keeps 16 KiB for the frame that it is sending, from its session's beginning to its end, and uses the
/// first hundred bytes: one page of 4 KiB for each connection, and as much again at the piece's end where it is not on
/// pages of its own. Between two frames nothing in it counts. Everything else comes from the C library.
final class LibraryMemory {
    /// In bytes: what is as large as the piece for a frame. libnghttp2 asks for nothing else of that size while it makes
    /// a session, which is when the piece is noted.
    private static let frameBytes = 16_384

    private static let pageBytes = sysconf(Int32(_SC_PAGESIZE))

    /// The piece for a frame, on pages of its own.
    private(set) var frame: UnsafeMutableRawPointer?
    private(set) var frameCount = 0
    private var isMaking = false

    /// Calls with the functions that libnghttp2 is to use while it makes a session, and afterwards.
    static func with<Result>(
        _ memory: LibraryMemory?,
        _ body: (UnsafeMutablePointer<nghttp2_mem>?) -> Result
    ) -> Result {
        guard let memory else { return body(nil) }
        var functions = nghttp2_mem(
            mem_user_data: Unmanaged.passUnretained(memory).toOpaque(),
            malloc: { count, _ in malloc(count) },
            free: { piece, owner in
                if let owner { LibraryMemory.call(owner) { $0.forget(piece) } }
                free(piece)
            },
            calloc: { count, size, _ in calloc(count, size) },
            realloc: { piece, count, owner in
                guard let owner else { return realloc(piece, count) }
                return LibraryMemory.call(owner) { $0.change(piece, to: count) }
            },
        )
        memory.isMaking = true
        defer { memory.isMaking = false }
        return body(&functions)
    }

    /// Calls with the owner that libnghttp2 was given, without counting a reference to it: several times for each frame.
    @inline(__always)
    private static func call<Result>(_ owner: UnsafeMutableRawPointer, _ body: (LibraryMemory) -> Result) -> Result {
        Unmanaged<LibraryMemory>.fromOpaque(owner)._withUnsafeGuaranteedRef(body)
    }

    private func change(_ piece: UnsafeMutableRawPointer?, to count: Int) -> UnsafeMutableRawPointer? {
        guard piece == nil, isMaking, frame == nil, count >= Self.frameBytes, Self.pageBytes > 0 else {
            forget(piece)
            return realloc(piece, count)
        }
        frameCount = (count + Self.pageBytes - 1) / Self.pageBytes * Self.pageBytes
        guard posix_memalign(&frame, Self.pageBytes, frameCount) == 0 else { return nil }
        return frame
    }

    private func forget(_ piece: UnsafeMutableRawPointer?) {
        if let piece, piece == frame { frame = nil }
    }

    /// Gives back the pages for a frame: they are made again, empty, as soon as something is written to them. Only while
    /// libnghttp2 has no frame under way.
    func rest() {
        guard let frame else { return }
        // Where the system keeps them all the same, nothing is lost but memory.
        #if os(Linux)
            _ = madvise(frame, frameCount, MADV_DONTNEED)
        #else
            _ = madvise(frame, frameCount, MADV_FREE)
        #endif
    }
}

#if Service
    import CNghttp2

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #else
        import Darwin
    #endif

    /// The allocator of one libnghttp2 session. It puts the session's largest buffer on pages of its own, so that these
    /// pages can be returned to the system while the session is idle.
    ///
    /// libnghttp2 keeps a buffer of 16 KiB for the frame that it sends, as long as the session lasts, and uses mostly the
    /// first hundred bytes: one page of 4 KiB for each connection, and another at the buffer's end if it is not on pages of
    /// its own. Between two frames the buffer's contents do not matter. All other memory comes from the C library.
    final class LibraryMemory {
        /// The size of the frame buffer in bytes. libnghttp2 allocates nothing else of that size while it makes a session,
        /// so this is how the buffer is recognised.
        private static let frameBytes = 16_384

        private static let pageBytes = sysconf(Int32(_SC_PAGESIZE))

        /// The frame buffer, on pages of its own.
        private(set) var frame: UnsafeMutableRawPointer?
        private(set) var frameCount = 0
        private var isMaking = false

        /// Calls `body` with the memory functions that libnghttp2 has to use for a session, from its making on.
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

        /// Calls `body` with the owner that libnghttp2 was given. No reference is counted, because this happens several times
        /// for each frame.
        @inline(__always)
        private static func call<Result>(_ owner: UnsafeMutableRawPointer, _ body: (LibraryMemory) -> Result) -> Result
        {
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

        /// Returns the frame buffer's pages to the system, which maps empty pages again at the next write. Call it only while
        /// libnghttp2 sends no frame.
        func releaseIdleMemory() {
            guard let frame else { return }
            // If the call fails, the pages stay: nothing is lost but memory.
            #if os(Linux)
                _ = madvise(frame, frameCount, MADV_DONTNEED)
            #else
                _ = madvise(frame, frameCount, MADV_FREE)
            #endif
        }
    }
#endif

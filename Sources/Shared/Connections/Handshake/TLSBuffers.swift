@_spi(CustomByteBufferAllocator) package import NIOCore
import NIOPosix
package import NIOSSL
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The two large buffers that a TLS handler keeps for as long as its connection lasts. Their pages are returned to the
/// system while the connection is idle.
///
/// NIOSSL has a buffer of 16 KiB for outgoing bytes and one of 32 KiB for decrypted bytes. Both are empty between two
/// events, but the pages that were ever written to stay resident: one or two for each buffer, a quarter of an idle
/// connection's memory. So the buffers are on pages of their own, and ``releaseIdleMemory()`` releases these. NIOSSL's own
/// setting (`maximumPreservedOutboundBufferCapacity`) has no effect in 2.37, and the other buffer has none. The only access
/// to the buffers is a channel allocator of our own, which is an SPI of NIOCore. If NIOCore removes it, delete this file:
/// each connection then takes 10 KB more.
package final class TLSBuffers {
    /// The size of the smaller one, in bytes.
    private static let largeBytes = 16_384
    private static let pageBytes = sysconf(Int32(_SC_PAGESIZE))

    /// All buffers that are on pages of their own. The number distinguishes a buffer from an earlier one at its address.
    private static let alive = Mutex(Alive())

    private struct Alive {
        /// The number of each buffer, by its address.
        var pieces: [UInt: UInt64] = [:]
        var last: UInt64 = 0
    }

    struct Piece: Sendable {
        let address: UInt
        let bytes: Int
        let number: UInt64
    }

    let pieces: [Piece]

    private init(_ pieces: [Piece]) { self.pieces = pieces }

    /// Adds a TLS handler to a pipeline, with its buffers on pages of their own. Call it on the channel's event loop.
    package static func add(
        _ handler: NIOSSLHandler,
        to channel: any Channel,
        position: ChannelPipeline.SynchronousOperations.Position = .last,
    ) throws -> TLSBuffers {
        let usual = channel.allocator
        let collector = Collector()
        collecting.currentValue = collector
        defer { collecting.currentValue = nil }
        // Use it only for the buffers that the handler allocates when it is added. Its other buffers are small and
        // short-lived.
        try channel.syncOptions?.setOption(.allocator, value: allocator)
        try channel.pipeline.syncOperations.addHandler(handler, position: position)
        try channel.syncOptions?.setOption(.allocator, value: usual)
        return TLSBuffers(collector.pieces.withLock { $0 })
    }

    /// Returns the pages to the system, which maps empty pages again at the next write. Call it only on the channel's event
    /// loop, outside of a read, and while the channel has nothing to write: then the buffers are empty.
    package func releaseIdleMemory() {
        Self.alive.withLock { alive in
            for piece in pieces where alive.pieces[piece.address] == piece.number {
                let start = UnsafeMutableRawPointer(bitPattern: piece.address)
                // If the call fails, the pages stay: nothing is lost but memory.
                #if os(Linux)
                    _ = madvise(start, piece.bytes, MADV_DONTNEED)
                #else
                    _ = madvise(start, piece.bytes, MADV_FREE)
                #endif
            }
        }
    }

    // MARK: The allocator

    /// The buffers of the handler that is being added on this thread.
    private final class Collector: Sendable {
        let pieces = Mutex<[Piece]>([])
    }

    private static let collecting = ThreadSpecificVariable<Collector>()

    private static let allocator = ByteBufferAllocator(
        allocate: { TLSBuffers.allocate($0) },
        reallocate: { piece, old, new in TLSBuffers.change(piece, old, to: new) },
        deallocate: { TLSBuffers.release($0) },
        copy: { $0.copyMemory(from: $1, byteCount: $2) },
    )

    private static func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
        guard count >= largeBytes, pageBytes > 0, let collector = collecting.currentValue else { return malloc(count) }
        let bytes = (count + pageBytes - 1) / pageBytes * pageBytes
        var start: UnsafeMutableRawPointer?
        guard posix_memalign(&start, pageBytes, bytes) == 0, let start else { return nil }
        let address = UInt(bitPattern: start)
        let number = alive.withLock { alive in
            alive.last += 1
            alive.pieces[address] = alive.last
            return alive.last
        }
        collector.pieces.withLock { $0.append(Piece(address: address, bytes: bytes, number: number)) }
        return start
    }

    private static func change(
        _ piece: UnsafeMutableRawPointer?,
        _ old: Int,
        to new: Int,
    ) -> UnsafeMutableRawPointer? {
        if let piece { forget(piece) }
        return realloc(piece, new)
    }

    private static func release(_ piece: UnsafeMutableRawPointer) {
        forget(piece)
        free(piece)
    }

    private static func forget(_ piece: UnsafeMutableRawPointer) {
        // A piece that does not begin with a page was never recorded.
        let address = UInt(bitPattern: piece)
        guard pageBytes > 0, address % UInt(pageBytes) == 0 else { return }  // fits: more than 0
        alive.withLock { $0.pieces[address] = nil }
    }
}

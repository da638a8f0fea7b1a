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

/// The two large buffers that a TLS handler keeps for as long as its connection lasts, and whose pages go back to the
/// system while the connection is silent.
///
/// NIOSSL has 16 KiB for what goes out and 32 KiB for what it has decrypted. Both are empty between two events, but what
/// was ever written to stays resident: a page or two each, a quarter of what an idle connection costs. So they are laid
/// on pages of their own, and ``rest()`` gives these back. NIOSSL's own setting for it
/// (`maximumPreservedOutboundBufferCapacity`) has no effect in 2.37, and there is none for the other buffer. The way to
/// them is the channel's allocator, of which an own one is an SPI of NIOCore: should it go, so does this file, and each
/// connection costs 10 KB more.
package final class TLSBuffers {
    /// In bytes: the smaller of the two.
    private static let largeBytes = 16_384
    private static let pageBytes = sysconf(Int32(_SC_PAGESIZE))

    /// Every buffer on pages of its own that is alive, with the number that tells it from an earlier one in its place.
    private static let alive = Mutex(Alive())

    private struct Alive {
        /// By address.
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

    /// Puts a TLS handler into a pipeline, with its buffers on pages of their own. On the channel's event loop.
    package static func add(
        _ handler: NIOSSLHandler,
        to channel: any Channel,
        position: ChannelPipeline.SynchronousOperations.Position = .last,
    ) throws -> TLSBuffers {
        let usual = channel.allocator
        let collector = Collector()
        collecting.currentValue = collector
        defer { collecting.currentValue = nil }
        // Only what the handler makes as it is added: its other buffers are small and come and go.
        try channel.syncOptions?.setOption(.allocator, value: allocator)
        try channel.pipeline.syncOperations.addHandler(handler, position: position)
        try channel.syncOptions?.setOption(.allocator, value: usual)
        return TLSBuffers(collector.pieces.withLock { $0 })
    }

    /// Gives the pages back; they are made again, empty, as soon as something is written to them. Only on the channel's
    /// event loop, outside of a read, and while the channel has nothing to write: the buffers are empty then.
    package func rest() {
        Self.alive.withLock { alive in
            for piece in pieces where alive.pieces[piece.address] == piece.number {
                let start = UnsafeMutableRawPointer(bitPattern: piece.address)
                // Where the system keeps them all the same, nothing is lost but memory.
                #if os(Linux)
                    _ = madvise(start, piece.bytes, MADV_DONTNEED)
                #else
                    _ = madvise(start, piece.bytes, MADV_FREE)
                #endif
            }
        }
    }

    // MARK: The allocator

    /// What was allocated for the handler that is being added on this thread.
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
        // What is not on pages of its own was never noted.
        let address = UInt(bitPattern: piece)
        guard pageBytes > 0, address % UInt(pageBytes) == 0 else { return }
        alive.withLock { $0.pieces[address] = nil }
    }
}

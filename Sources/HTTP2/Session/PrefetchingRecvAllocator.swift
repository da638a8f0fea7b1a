import NIOCore

/// Reads a fixed number of bytes at a time, and asks for memory before each read: SwiftNIO wants to know how much to read
/// just before it calls the system, and what comes of it is looked at just after.
struct PrefetchingRecvAllocator: RecvByteBufferAllocator {
    let bytes: Int
    let list: PrefetchList

    func nextBufferSize() -> Int? {
        list.prefetch()
        return bytes
    }

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer { allocator.buffer(capacity: bytes) }

    mutating func record(actualReadBytes: Int) -> Bool { false }
}

package import NIOCore

/// How much memory a connection keeps for reading and writing, also while it is idle.
package struct ConnectionBuffers: Sendable, Hashable {
    /// The size of the buffer for one read from the socket, in bytes. If it is nil, the size adapts to what came before,
    /// up to 64 KiB, and the connection keeps the buffer.
    package var readBytes: Int?
    /// Whether TLS's buffers release their memory while the connection is idle: see ``TLSBuffers``.
    package var releaseWhenIdle: Bool

    /// Buffers for few connections with much traffic.
    package static let busy = ConnectionBuffers(readBytes: nil, releaseWhenIdle: false)

    /// Buffers for many connections that are mostly idle. An acknowledgement has 100 bytes, and most notifications
    /// have a few hundred. Longer data needs several reads.
    package static let idle = ConnectionBuffers(readBytes: 512, releaseWhenIdle: true)

    /// The channel's option; nil to keep the channel's own allocator.
    package var recvAllocator: FixedSizeRecvByteBufferAllocator? {
        readBytes.map { FixedSizeRecvByteBufferAllocator(capacity: max(1, $0)) }
    }
}

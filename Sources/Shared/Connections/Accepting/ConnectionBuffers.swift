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

    /// The same, with connections among them that are idle for long, or whose clients nobody knows.
    package static let busyOrIdle = ConnectionBuffers(readBytes: nil, releaseWhenIdle: true)

    /// Buffers for many connections that are mostly idle. An acknowledgement has 100 bytes, and most notifications
    /// have a few hundred. Longer data needs several reads.
    package static let idle = ConnectionBuffers(readBytes: 512, releaseWhenIdle: true)

    /// The size of the buffer for one read, in bytes, while the client has not authenticated. NIOSSL collects the bytes of
    /// all reads before it passes them on, and keeps a buffer of that size: with reads of 64 KiB that was half a megabyte
    /// for each connection. A handshake and a first request need two reads.
    static let strangerReadBytes = 2_048

    /// The number of reads before what came is handled, while the client has not authenticated.
    static let strangerReads: UInt = 4

    /// The number of reads before what came is handled.
    static let reads: UInt = 8

    /// The channel's option, once the client has authenticated.
    package var recvAllocator: any RecvByteBufferAllocator {
        guard let readBytes else { return AdaptiveRecvByteBufferAllocator() }
        return FixedSizeRecvByteBufferAllocator(capacity: max(1, readBytes))
    }

    /// The channel's option before that.
    var strangerRecvAllocator: any RecvByteBufferAllocator {
        FixedSizeRecvByteBufferAllocator(capacity: min(Self.strangerReadBytes, max(1, readBytes ?? .max)))
    }
}

package import NIOCore

/// How much memory a connection keeps for what it reads and writes, also while it does neither.
package struct ConnectionBuffers: Sendable, Hashable {
    /// In bytes: what is read from the socket at one go; nil for a size that follows what came before, up to 64 KiB,
    /// and stays with the connection.
    package var readBytes: Int?
    /// Whether TLS's buffers give their memory back while nothing comes and goes: see ``TLSBuffers``.
    package var rest: Bool

    /// For a few connections on which much goes on.
    package static let busy = ConnectionBuffers(readBytes: nil, rest: false)

    /// For many that are silent nearly always: an acknowledgement has 100 bytes, most notifications a few hundred. What
    /// is longer takes another read.
    package static let idle = ConnectionBuffers(readBytes: 512, rest: true)

    /// For the channel; nil for the channel's own way.
    package var recvAllocator: FixedSizeRecvByteBufferAllocator? {
        readBytes.map { FixedSizeRecvByteBufferAllocator(capacity: max(1, $0)) }
    }
}

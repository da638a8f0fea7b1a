import Logging
package import NIOCore
package import Rates

/// A connection that a listener accepted: its place among those of its address, and the log's line about it. Confined to
/// the connection's event loop.
package final class AcceptedConnection {
    package let channel: any Channel
    /// The buffers of TLS, if the service wants them to give their memory back.
    package internal(set) var buffers: TLSBuffers?
    private let remote: SocketAddress?
    private let guardian: ConnectGuard?
    private let address: PeerAddress?
    private let logger: Logger
    private var isReported = false

    /// - Throws: when the connection is one too many; the listener then closes it.
    init(_ channel: any Channel, guardedBy guardian: ConnectGuard?, logger: Logger) throws {
        self.channel = channel
        self.logger = logger
        remote = channel.remoteAddress
        guard let guardian, let address = PeerAddress(remote) else {
            (self.guardian, self.address) = (nil, nil)
            return
        }
        (self.guardian, self.address) = (guardian, address)
        switch guardian.admit(address, at: .now()) {
        case .admitted: break
        case .tooManyConnects: try refuse(guardian.rateLimit)
        case .tooManyOpen: try refuse(.openConnections)
        case .outOfFiles: try refuse(.openFiles)
        }
        channel.closeFuture.whenComplete { _ in guardian.closed(address) }
    }

    private func refuse(_ limit: Limit) throws {
        limitExceeded(limit)
        throw TooManyConnections()
    }

    private struct TooManyConnections: Error {}

    /// The client's address, without the port; empty if the system does not tell it.
    package var peer: String { remote?.ipAddress ?? "" }

    /// The client misbehaved: its further connects count double for a while.
    package func suspect() {
        if let guardian, let address { guardian.suspect(address, at: .now()) }
    }

    /// The connection exceeded a limit.
    package func limitExceeded(_ limit: Limit) { guardian?.log?.limitExceeded(limit, peer: peer) }

    /// Logs what went wrong with the connection, once.
    package func report(_ message: String, _ cause: String) {
        guard !isReported else { return }
        isReported = true
        logger.info("\(message)", metadata: ["peer": .string(remote?.hostAndPort ?? ""), "cause": .string(cause)])
    }
}

package import NIOCore
package import Rates

/// A connection that a listener accepted: its place among those of its address, and the log's line about it. Confined
/// to the connection's event loop.
package final class AcceptedConnection {
    package let channel: any Channel
    /// The buffers of TLS, if the service wants them to release their memory.
    package internal(set) var buffers: TLSBuffers?
    /// What observed the handshake; nil if nothing did.
    package internal(set) var handshake: (any HandshakeObservation)?
    /// The client's address, which may come from a load balancer. Nil if the system does not know it.
    package let remote: SocketAddress?
    /// Whether the client connected directly, and not through a load balancer that names it.
    package let isDirect: Bool
    private let guardian: ConnectGuard?
    private let address: PeerAddress?
    private let log: ConnectionLog
    private let untrusted: UntrustedConnections
    /// Its number among the connections whose clients have not authenticated yet.
    private var untrustedNumber: UInt64?
    /// The buffers for reading once the client has authenticated; nil if they are in use.
    private var trustedBuffers: ConnectionBuffers?
    private var isReported = false

    /// - Parameters:
    ///   - remote: the client's address.
    ///   - isDirect: whether no load balancer has said who the client is.
    /// - Throws: If there are too many connections. The listener then closes this one.
    init(
        _ channel: any Channel,
        of remote: SocketAddress?,
        isDirect: Bool,
        guardedBy guardian: ConnectGuard?,
        among untrusted: UntrustedConnections,
        log: ConnectionLog,
    ) throws {
        self.channel = channel
        self.untrusted = untrusted
        self.log = log
        self.remote = remote
        self.isDirect = isDirect
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

    /// Takes a place among the connections whose clients have not authenticated yet, until ``showedTrust()`` or the
    /// end. Until then it reads with small buffers. A connection over a Unix socket needs neither.
    /// - Parameters:
    ///   - buffers: what the service wants for reading.
    ///   - end: closes the connection if the client still has not authenticated. Called on any thread.
    /// - Throws: If there is no place. The listener then closes the connection.
    func awaitTrust(_ buffers: ConnectionBuffers, _ end: @escaping @Sendable () -> Void) throws {
        guard address != nil else { return }
        try setReading(buffers.strangerRecvAllocator, reads: ConnectionBuffers.strangerReads)
        trustedBuffers = buffers
        guard let number = untrusted.admit(at: .now(), end: end) else { return try refuse(.untrustedConnections) }
        untrustedNumber = number
        channel.closeFuture.whenComplete { [untrusted] _ in untrusted.remove(number) }
    }

    private func setReading(_ allocator: any RecvByteBufferAllocator, reads: UInt) throws {
        try channel.syncOptions?.setOption(.recvAllocator, value: allocator)
        try channel.syncOptions?.setOption(.maxMessagesPerRead, value: reads)
    }

    /// Whether the client has never authenticated, so that what it makes the service hold is limited. False for a
    /// connection over a Unix socket.
    package var isStranger: Bool { trustedBuffers != nil }

    /// The client has authenticated. Called as often as one likes.
    package func showedTrust() {
        if let buffers = trustedBuffers {
            trustedBuffers = nil
            // A channel that is closed has no options any more.
            try? setReading(buffers.recvAllocator, reads: ConnectionBuffers.reads)
        }
        guard let number = untrustedNumber else { return }
        untrustedNumber = nil
        untrusted.remove(number)
    }

    private func refuse(_ limit: Limit) throws {
        limitExceeded(limit)
        throw TooManyConnections()
    }

    /// The client's address for the log; empty if the system does not know it.
    package var peer: String { remote?.host ?? "" }

    /// Whether the client is on this machine, or in one of these ranges. A load balancer may say that a client is on this
    /// machine; that does not count.
    package func isLocal(or ranges: [AddressRange]) -> Bool {
        // A mapped IPv4 address counts as IPv4.
        guard let host = remote?.host, let address = host.socketAddress() else { return false }
        return isDirect && address.isLoopback || ranges.contains { $0.contains(address) }
    }

    /// The client misbehaved: its further connects count double for a while.
    package func suspect() {
        if let guardian, let address { guardian.suspect(address, at: .now()) }
    }

    /// The connection exceeded a limit.
    package func limitExceeded(_ limit: Limit) { guardian?.log?.limitExceeded(limit, peer: peer) }

    /// A request on the connection broke a rule of HTTP. Counts and logs it.
    /// - Parameter rule: the rule, without bytes of the peer.
    package func malformedRequest(_ rule: @autoclosure () -> String) {
        log.malformedRequest(peer: remote, rule: rule)
    }

    /// Logs what went wrong with the connection, once.
    package func report(_ message: String, _ cause: @autoclosure () -> String) {
        guard !isReported else { return }
        isReported = true
        log.report(message, peer: remote, cause: cause)
    }
}

/// A limit refused the connection. The limit's log has recorded that.
struct TooManyConnections: Error {}

package import Logging
package import NIOCore
import NIOPosix
package import NIOSSL

/// Listens on an address, limits the connections, and passes each to a service, with TLS or without.
///
/// One timer serves all connections of an event loop: see ``ConnectionRegistry``.
package final class Listener: Sendable {
    private let channel: any Channel
    private let registries: [NIOLoopBound<ConnectionRegistry>]

    /// The address to listen on.
    package enum Address: Sendable {
        /// Port 0 lets the system choose.
        case tcp(host: String, port: Int)
        case unix(path: String)
    }

    /// Begins to listen with the same TLS for all clients, or without TLS.
    package static func bind<Service: ConnectionService>(
        _ choice: ServiceChoice<Service>,
        to address: Address,
        tls: (@Sendable () -> NIOSSLContext)?,
        limits: ListenerLimits = ListenerLimits(),
        connects: ConnectGuard? = nil,
        proxies: [AddressRange] = [],
        requiresProxyHeader: Bool = true,
        group: any EventLoopGroup,
        logger: Logger,
    ) async throws -> Listener {
        var tlsFor: (@Sendable (ClientHello?, SocketAddress?) -> HandshakePlan)?
        if let tls { tlsFor = { @Sendable _, _ in HandshakePlan(tls()) } }
        return try await bind(
            choice, to: address, tlsFor: tlsFor, limits: limits, connects: connects, proxies: proxies,
            requiresProxyHeader: requiresProxyHeader, group: group, logger: logger)
    }

    /// Begins to listen, and returns when connections are accepted.
    /// - Parameters:
    ///   - choice: selects the service for a connection.
    ///   - tlsFor: returns the plan for the handshake of each new connection, so that a certificate can be renewed; nil for
    ///     no TLS. It gets the client's first message, nil if that cannot be read, and the client's address.
    ///   - connects: limits the connections of each address; nil for no limit.
    ///   - proxies: the addresses of load balancers. A connection from there must begin with a PROXY header, which says
    ///     who the client is. No other connection may.
    ///   - requiresProxyHeader: whether a connection of a load balancer without the header is closed. Otherwise the balancer
    ///     itself is the client.
    ///   - logger: logs connections that end unexpectedly, at info or below.
    package static func bind<Service: ConnectionService>(
        _ choice: ServiceChoice<Service>,
        to address: Address,
        tlsFor tls: (@Sendable (ClientHello?, SocketAddress?) -> HandshakePlan)?,
        limits: ListenerLimits = ListenerLimits(),
        connects: ConnectGuard? = nil,
        proxies: [AddressRange] = [],
        requiresProxyHeader: Bool = true,
        group: any EventLoopGroup,
        logger: Logger,
    ) async throws -> Listener {
        var registries: [NIOLoopBound<ConnectionRegistry>] = []
        for eventLoop in group.makeIterator() { registries.append(try await ConnectionRegistry.make(on: eventLoop)) }
        let log = ConnectionLog(logger, limits: connects?.log)
        let untrusted = UntrustedConnections(limit: limits.untrustedConnections, grace: limits.untrustedGrace)
        var bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: limits.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.maxMessagesPerRead, value: ConnectionBuffers.reads)
            .childChannelInitializer { [registries] channel in
                SetUpFailure.reporting(channel, to: log) {
                    guard let registry = registries.first(where: { $0.eventLoop === channel.eventLoop }) else {
                        throw ChannelError.operationUnsupported
                    }
                    func addToPipeline(_ client: SocketAddress?, isDirect: Bool) throws {
                        let accepted = try AcceptedConnection(
                            channel, of: client, isDirect: isDirect, guardedBy: connects, among: untrusted, log: log)
                        try ConnectionHandler<Service>(
                            accepted, registry: registry.value, timeout: limits.handshakeTimeout
                        ).addToPipeline(choice, tls: tls)
                    }
                    let remote = channel.remoteAddress
                    guard let remote, proxies.contains(where: { $0.contains(remote) }) else {
                        return try addToPipeline(remote, isDirect: true)
                    }
                    let handler = ProxyHeaderHandler(
                        isRequired: requiresProxyHeader, timeout: limits.handshakeTimeout
                    ) { cause in
                        log.report("A load balancer's connection was refused", peer: remote, cause: { cause })
                    } setUp: { client, isNamed in
                        try addToPipeline(client, isDirect: !isNamed)
                    }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
        bootstrap = bootstrap.childChannelOption(.recvAllocator, value: Service.buffers.recvAllocator)
        let channel: any Channel =
            switch address {
            case .tcp(let host, let port):
                try await bootstrap.childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                    .bind(host: host, port: port).get()
            case .unix(let path):
                try await bootstrap.bind(unixDomainSocketPath: path).get()
            }
        // Add this handler after the one that sets connections up.
        try await channel.pipeline.addHandler(SetUpFailures(log)).get()
        return Listener(channel: channel, registries: registries)
    }

    private init(channel: any Channel, registries: [NIOLoopBound<ConnectionRegistry>]) {
        self.channel = channel
        self.registries = registries
    }

    /// The address of the listener, with the port that the system chose.
    package var localAddress: SocketAddress? { channel.localAddress }

    /// Accepts no more connections, and ends the open ones one after the other, evenly over a time. Returns when all
    /// have ended, and at most `limit` after that time.
    package func drain(over time: TimeAmount, within limit: TimeAmount) async {
        try? await channel.close()
        await withDiscardingTaskGroup { group in
            for registry in registries {
                group.addTask {
                    await ConnectionRegistry.drain(registry, over: time)
                    await ConnectionRegistry.shutDown(registry, within: limit)
                }
            }
        }
    }

    /// Accepts no more connections, lets the open ones finish, and closes those that are left after `limit`.
    package func shutDown(within limit: TimeAmount) async {
        // This fails if the listener was closed already.
        try? await channel.close()
        await withDiscardingTaskGroup { group in
            for registry in registries {
                group.addTask { await ConnectionRegistry.shutDown(registry, within: limit) }
            }
        }
    }
}

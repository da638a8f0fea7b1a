package import NIOCore
import NIOPosix

/// Listens on an address, counts what connects, and hands each connection to whoever puts its handlers in place.
///
/// There is one clock for all connections of an event loop, not one each: see ``ConnectionRegistry``.
package final class Listener: Sendable {
    private let channel: any Channel
    private let registries: [NIOLoopBound<ConnectionRegistry>]

    /// Where to listen.
    package enum Address: Sendable {
        /// Port 0 lets the system choose.
        case tcp(host: String, port: Int)
        case unix(path: String)
    }

    /// A connection that was accepted and admitted.
    package struct Accepted {
        package let channel: any Channel
        package let registry: ConnectionRegistry
        package let admission: ConnectionAdmission
    }

    /// Listens; returns once connections are accepted.
    /// - Parameters:
    ///   - connects: counts the connections of each address; nil for no limit.
    ///   - buffers: what each connection keeps for what it reads.
    ///   - install: puts the handlers of a new connection in place, on its event loop; what it throws closes it.
    package static func bind(
        to address: Address,
        limits: ListenerLimits,
        connects: ConnectGuard?,
        buffers: ConnectionBuffers = .busy,
        group: any EventLoopGroup,
        install: @escaping @Sendable (Accepted) throws -> Void,
    ) async throws -> Listener {
        var registries: [NIOLoopBound<ConnectionRegistry>] = []
        for eventLoop in group.makeIterator() { registries.append(try await ConnectionRegistry.make(on: eventLoop)) }
        var bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: limits.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.maxMessagesPerRead, value: 8)
            .childChannelInitializer { [registries] channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let registry = registries.first(where: { $0.eventLoop === channel.eventLoop }) else {
                        throw ChannelError.operationUnsupported
                    }
                    let admission = try ConnectionAdmission(channel, guardedBy: connects)
                    try install(Accepted(channel: channel, registry: registry.value, admission: admission))
                }
            }
        if let allocator = buffers.recvAllocator {
            bootstrap = bootstrap.childChannelOption(.recvAllocator, value: allocator)
        }
        let channel: any Channel =
            switch address {
            case .tcp(let host, let port):
                try await bootstrap.childChannelOption(.socketOption(.tcp_nodelay), value: 1)
                    .bind(host: host, port: port).get()
            case .unix(let path):
                try await bootstrap.bind(unixDomainSocketPath: path).get()
            }
        return Listener(channel: channel, registries: registries)
    }

    private init(channel: any Channel, registries: [NIOLoopBound<ConnectionRegistry>]) {
        self.channel = channel
        self.registries = registries
    }

    /// Where it listens, with the port that the system chose.
    package var localAddress: SocketAddress? { channel.localAddress }

    /// Takes no more connections, lets those that are open finish what they have begun, and closes what is left after
    /// `limit`.
    package func shutDown(within limit: TimeAmount) async {
        // It may have been closed already.
        try? await channel.close()
        await withDiscardingTaskGroup { group in
            for registry in registries {
                group.addTask { await ConnectionRegistry.shutDown(registry, within: limit) }
            }
        }
    }
}

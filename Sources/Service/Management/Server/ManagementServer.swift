package import Connections
import Console
import HTTPAPI
package import Logging
import NIOCore
import NIOPosix
package import NIOSSL

/// Serves the API over HTTP/1.1 on a Unix socket, over TCP with the key, and over TLS with administrators'
/// certificates.
///
/// The server has its own event loop, and handles requests in tasks on a thread of its own (``BackgroundExecutor``). So
/// it does not delay providers and devices.
package final class ManagementServer: Sendable {
    private let api: ManagementAPI
    private let router: ManagementRouter
    /// There are two tables, so that connections from the network never take the place of connections to the Unix
    /// socket.
    private let networkConnections: ConnectionTable
    private let socketConnections: ConnectionTable
    private let executor = BackgroundExecutor(name: "management")
    private let tasks: ConnectionTasks
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let hostnames: [String]
    private let key: String
    private let isInMemory: Bool
    private let connects: ConnectGuard?
    private let logger: Logger

    /// - Parameters:
    ///   - hostnames: the service's names, which are allowed as `Host` in addition to the addresses that it listens
    ///     on.
    ///   - key: the key that a request over TCP needs.
    ///   - isInMemory: whether the store is in memory, so that the service is one for tests.
    ///   - connects: limits the connections of each address over TCP; nil for no limit.
    package init(
        _ api: ManagementAPI,
        hostnames: [String],
        key: String,
        isInMemory: Bool = false,
        connects: ConnectGuard?,
        logger: Logger,
    ) {
        self.api = api
        self.hostnames = hostnames
        self.key = key
        self.isInMemory = isInMemory
        self.connects = connects
        networkConnections = ConnectionTable(limit: api.parts.limits.connections)
        socketConnections = ConnectionTable(limit: api.parts.limits.connections)
        self.logger = logger
        router = ManagementRouter(api)
        tasks = ConnectionTasks(executor: executor)
        group.next().execute { BackgroundExecutor.giveWay() }
    }

    /// Listens on a Unix socket. Requests there need no key.
    package func listen(atSocket path: String) async throws -> Listener {
        try await listen(to: .unix(path: path), .socket)
    }

    /// Listens on TCP without TLS.
    /// - Parameter isLoopback: whether only this machine can reach the address.
    package func listen(host: String, port: Int, isLoopback: Bool) async throws -> Listener {
        let listener = try await listen(to: .tcp(host: host, port: port), .network(isLoopback: isLoopback))
        // Offer sign-in links only if the address is loopback: without TLS, a session is safe only within this
        // machine.
        if isLoopback { api.console.address = listener.localAddress?.hostAndPort.map { "http://\($0)" } }
        return listener
    }

    /// Listens on TCP with TLS, for administrators' certificates.
    /// - Parameter context: returns the TLS context for each new connection.
    package func listen(
        host: String,
        port: Int,
        context: @escaping @Sendable () -> NIOSSLContext,
    ) async throws -> Listener {
        try await listen(to: .tcp(host: host, port: port), .tls, context)
    }

    private func listen(
        to address: Listener.Address,
        _ transport: ManagementService.Transport,
        _ context: (@Sendable () -> NIOSSLContext)? = nil,
    ) async throws -> Listener {
        let rules = AccessRules(
            host: address.host, hostnames: hostnames, key: key, isInMemory: isInMemory, sessions: api.console)
        let table = transport == .socket ? socketConnections : networkConnections
        let service = ManagementService(
            transport, rules, api, router: router, table: table, tasks: tasks, logger: logger)
        var logger = logger
        logger[metadataKey: "listener"] = "management"
        return try await Listener.bind(
            .always(service), to: address, tls: context, connects: connects, group: group, logger: logger)
    }

    /// Ends all streams, such as those of the delivery log. Streams that begin later end at once.
    package func endStreams() { api.endStreams() }

    /// Ends the event loop. The listeners have to be shut down before.
    package func close() async {
        await tasks.finish()
        executor.end()
        // This can fail only if the threads have ended already.
        try? await group.shutdownGracefully()
    }
}

extension Listener.Address {
    /// The host that the listener is bound to. Empty for a Unix socket.
    fileprivate var host: String {
        switch self {
        case .tcp(let host, _): host
        case .unix: ""
        }
    }
}

package import Connections
import HTTPAPI
import HTTPAPIOverHTTP2
package import Logging
package import NIOCore
import NIOPosix

/// Serves Web Push over HTTP/2 and HTTP/1.1 with TLS, and over HTTP/1.1 to a proxy that ends TLS.
///
/// The server has its own event loop, and handles requests in tasks on threads of its own: it faces the internet without a client's
/// credential, and a flood here must not delay providers and devices. The tasks of HTTP/2 run on the event loop, so an answer needs
/// no other thread. Those of HTTP/1.1, which wait for the client too, run on a ``BackgroundExecutor``. Both threads give way to all
/// others.
package final class WebPushServer: Sendable {
    private let executor = BackgroundExecutor(name: "web push")
    private let tasks: ConnectionTasks
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let rules: RequestConnection.Rules
    private let logger: Logger

    package init(logger: Logger) {
        var logger = logger
        logger[metadataKey: "listener"] = "web push"
        self.logger = logger
        tasks = ConnectionTasks(executor: executor)
        rules = RequestConnection.Rules(
            WebPushLimits.requests, refusalFields: WebPushAnswer.fields, idle: WebPushLimits.connections.idle,
            executor: EventLoopExecutor(group.next()))
        group.next().execute { BackgroundExecutor.giveWay() }
    }

    /// Listens with TLS.
    /// - Parameters:
    ///   - tls: plans the handshake of each new connection.
    ///   - proxies: the load balancers whose connections begin with a PROXY header.
    ///   - api: makes the API when the address is known.
    package func listen(
        to address: Listener.Address,
        limits: ListenerLimits,
        connects: ConnectGuard,
        proxies: [AddressRange],
        tls: @escaping @Sendable (ClientHello?, SocketAddress?) -> HandshakePlan,
        _ api: WebPushAPI,
    ) async throws -> Listener {
        let http2 = WebPushService(api, .direct(isHTTP2: true), rules, tasks, quiet)
        let http1 = WebPushService(api, .direct(isHTTP2: false), rules, tasks, quiet)
        // The listener offers HTTP/2 first, so a client that knows it gets it.
        return try await Listener.bind(
            .byHello { $0?.offersHTTP2 == true ? http2 : http1 }, to: address, tlsFor: tls, limits: limits,
            connects: connects, proxies: proxies, group: group, logger: logger)
    }

    /// Listens without TLS, for a proxy on this machine or at one of the addresses.
    package func listenPlain(
        to address: Listener.Address,
        limits: ListenerLimits,
        connects: ConnectGuard,
        proxies: [AddressRange],
        _ api: WebPushAPI,
    ) async throws -> Listener {
        try await Listener.bind(
            .always(WebPushService(api, .proxied(proxies), rules, tasks, quiet)), to: address, tls: nil, limits: limits,
            connects: connects, proxies: proxies, requiresProxyHeader: false, group: group, logger: logger)
    }

    /// A logger that omits Hummingbird's messages about single connections.
    private var quiet: Logger {
        var logger = logger
        logger.logLevel = max(.warning, logger.logLevel)
        return logger
    }

    /// Ends the event loop. The listeners have to be shut down before.
    package func close() async {
        await tasks.finish()
        executor.end()
        // This can fail only if the threads have ended already.
        try? await group.shutdownGracefully()
    }
}

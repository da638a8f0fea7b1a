package import Connections
package import Logging
package import NIOCore
package import NIOSSL

/// Listens for HTTP/2 connections, over TLS or on a Unix socket, and hands each to a service.
package enum HTTP2Listener {
    /// Listens; returns once connections are accepted.
    /// - Parameters:
    ///   - choice: what stands behind a connection.
    ///   - connects: counts the connections of each address; nil for no limit.
    ///   - tls: the context of each new connection, so that a certificate can be renewed; nil for plain HTTP/2.
    ///   - logger: told, at info or below, of connections that end otherwise than they should.
    package static func bind<Service: HTTP2Service>(
        _ choice: ServiceChoice<Service>,
        to address: Listener.Address,
        tls: (@Sendable () -> NIOSSLContext)?,
        limits: ListenerLimits = ListenerLimits(),
        connects: ConnectGuard? = nil,
        group: any EventLoopGroup,
        logger: Logger,
    ) async throws -> Listener {
        try await Listener.bind(to: address, limits: limits, connects: connects, buffers: Service.buffers, group: group)
        {
            let handler = ConnectionHandler<Service>(
                registry: $0.registry, admission: $0.admission, timeout: limits.handshakeTimeout, logger: logger)
            try handler.install(on: $0.channel, choice, tls: tls)
        }
    }
}

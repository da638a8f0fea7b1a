package import Connections
package import Logging
package import NIOCore
package import NIOSSL

/// Listens for providers with a certificate, on the ports of the binary API.
package enum CertifiedListener {
    /// Listens; returns once connections are accepted.
    /// - Parameters:
    ///   - choice: what stands behind a connection.
    ///   - tls: the context of each new connection. It has to require a certificate, and to know no protocols.
    ///   - logger: told, at info or below, of connections that end otherwise than they should.
    package static func bind(
        _ choice: ServiceChoice<any CertifiedService>,
        to address: Listener.Address,
        tls: @escaping @Sendable () -> NIOSSLContext,
        limits: ListenerLimits = ListenerLimits(),
        connects: ConnectGuard? = nil,
        group: any EventLoopGroup,
        logger: Logger,
    ) async throws -> Listener {
        try await Listener.bind(to: address, limits: limits, connects: connects, group: group) {
            try CertifiedChannel.install(
                on: $0, choice, tls: tls, timeout: limits.handshakeTimeout, logger: logger)
        }
    }
}

import Foundation
import HTTP2
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// Opens connections. Looks the host up again for each one and takes the address with the fewest connections (Guide,
/// 2.3.3.1: distribute them across several endpoints).
struct ConnectionOpener: Sendable {
    /// The time for opening a connection, until the service's SETTINGS have come.
    static let timeout = TimeAmount.seconds(10)

    let environment: APNSEnvironment
    let tls: NIOSSLContext
    var proxy: HTTPProxy?
    /// Whether each request has a provider token of its own.
    var passesTokens = false

    /// Returns the addresses in the order in which to try them: those with the fewest connections first, in random
    /// order among equals.
    static func order(
        _ addresses: [SocketAddress],
        inUse: [SocketAddress],
        using generator: inout some RandomNumberGenerator,
    ) -> [SocketAddress] {
        var different: [SocketAddress] = []
        for address in addresses where !different.contains(address) { different.append(address) }
        let counted = different.shuffled(using: &generator).map { address in
            (address: address, uses: inUse.count { $0 == address })
        }
        return counted.sorted { $0.uses < $1.uses }.map(\.address)
    }

    init(
        environment: APNSEnvironment,
        credentials: ProviderCredentials,
        proxy: HTTPProxy?,
    ) throws(ProviderError) {
        self.environment = environment
        tls = try environment.tls(credentials)
        self.proxy = proxy
        if case .passthrough = credentials.kind { passesTokens = true }
    }

    /// Connects to one address, which is the proxy's if there is one. The channel has TLS, a handler that fails if the
    /// handshake fails, and the HTTP/2 session.
    func connect(
        to address: SocketAddress,
        within timeout: TimeAmount,
        on loop: any EventLoop,
        _ application: NIOLoopBound<ServerConnection>,
    ) -> EventLoopFuture<any Channel> {
        ClientBootstrap(group: loop)
            .connectTimeout(timeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let proxy else { return try addHandlers(to: channel, application.value) }
                    let connection = application.value
                    let handler = ProxyHandler(
                        proxy, to: environment.host, environment.port,
                        opened: { [self] in
                            connection.asksProxy = false
                            try addHandlers(to: $0, connection)
                        },
                        failed: { connection.failedBeforeSession($0) })
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .connect(to: address)
    }

    /// Adds TLS and the HTTP/2 session.
    private func addHandlers(to channel: any Channel, _ application: ServerConnection) throws {
        let handler = try NIOSSLClientHandler(context: tls, serverHostname: environment.tlsName)
        try channel.pipeline.syncOperations.addHandler(handler)
        try channel.pipeline.syncOperations.addHandler(ProtocolCheck { application.handshakeFailed($0) })
        var configuration = HTTP2Configuration()
        // Send nothing until the service's SETTINGS have come (Guide, 2.3.3: "do not assume a specific number of
        // streams").
        configuration.limits.concurrentStreamsBeforeSettings = 1
        let session = HTTP2Session(role: .client, configuration: configuration, application: application)
        try channel.pipeline.syncOperations.addHandler(session)
    }
}

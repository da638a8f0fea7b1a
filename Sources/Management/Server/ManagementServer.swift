package import Connections
import Foundation
import Hummingbird
import HummingbirdCore
package import Logging
package import NIOCore
package import NIOPosix
package import NIOSSL

/// Serves the API over HTTP/1.1: on a Unix socket, on TCP for whoever has the key, and over TLS for administrators.
///
/// It has an event loop of its own, and its handlers run in tasks, so that nothing of it holds up the event loops of
/// providers and devices.
package final class ManagementServer: Sendable {
    private let api: ManagementAPI
    private let rules: AccessRules
    private let table = ConnectionTable()
    private let group: MultiThreadedEventLoopGroup
    private let connects: ConnectGuard?
    private let logger: Logger
    private let router: ManagementRouter

    /// - Parameters:
    ///   - rules: who is let in.
    ///   - connects: counts the connections of each address over TCP; nil for no limit.
    package init(_ api: ManagementAPI, rules: AccessRules, connects: ConnectGuard?, logger: Logger) {
        self.api = api
        self.rules = rules
        self.connects = connects
        self.logger = logger
        router = ManagementRouter(api, rules: rules)
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    }

    /// Listens on a Unix socket, where nobody needs the key.
    package func listen(atSocket path: String) async throws -> Listener {
        try await listen(to: .unix(path: path), caller: .socket, tls: nil)
    }

    /// Listens on TCP without TLS.
    /// - Parameter isLoopback: whether only this machine reaches the address.
    package func listen(host: String, port: Int, isLoopback: Bool) async throws -> Listener {
        try await listen(to: .tcp(host: host, port: port), caller: .network(isLoopback: isLoopback), tls: nil)
    }

    /// Listens on TCP with TLS, for whoever presents an administrator's certificate.
    /// - Parameter context: the TLS context of each new connection.
    package func listen(
        host: String,
        port: Int,
        _ verifier: AdministratorVerifier,
        context: @escaping @Sendable () -> NIOSSLContext,
    ) async throws -> Listener {
        try await listen(to: .tcp(host: host, port: port), caller: .certificate(nil), tls: (verifier, context))
    }

    private func listen(
        to address: Listener.Address,
        caller: ManagementCaller,
        tls: (verifier: AdministratorVerifier, context: @Sendable () -> NIOSSLContext)?,
    ) async throws -> Listener {
        let connects = caller == .socket ? nil : connects
        return try await Listener.bind(to: address, limits: ListenerLimits(), connects: connects, group: group) {
            [self] accepted in
            let connection = ManagementConnection(registry: accepted.registry, table: table, caller: caller)
            if let tls {
                try ManagementTLS(tls.verifier, table: table, logger: logger).install(on: accepted.channel, tls.context())
            }
            serve(accepted.channel, connection)
        }
    }

    /// Puts Hummingbird's handlers on a connection, and answers its requests in a task until it ends.
    private func serve(_ channel: any Channel, _ connection: ManagementConnection) {
        let handler = NIOLoopBound(connection, eventLoop: channel.eventLoop)
        let http = HTTP1Channel(
            responder: { [table, router, logger] request, writer, channel in
                guard let caller = table.caller(on: channel) else { throw ChannelError.alreadyClosed }
                let context = ManagementContext(
                    source: .init(logger: logger, caller: caller, connectionEnd: channel.closeFuture))
                let response = await router.respond(to: request, context)
                try await writer.write(response: response.head, body: response.body)
            },
            configuration: .init(
                additionalChannelHandlers: [handler.value],
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: ManagementLimits.headerBytes, maxHeaderListSize: ManagementLimits.headerBytes,
                    maxHeaderFieldCount: ManagementLimits.headerFields)),
        )
        let logger = logger
        http.setup(channel: channel, logger: logger).whenSuccess { value in
            Task { await http.handle(value: value, logger: logger) }
        }
    }

    /// Ends the event loop. Its listeners have been shut down before.
    package func close() async {
        // Threads that are gone cannot be stopped again.
        try? await group.shutdownGracefully()
    }

    /// Ends what is open without an end of its own: streams of the delivery log. From then on none begins.
    package func endStreams() { api.endStreams() }
}

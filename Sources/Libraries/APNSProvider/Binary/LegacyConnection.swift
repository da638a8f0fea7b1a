import Connections
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A connection to the binary API or the feedback service: bytes over TLS with a client certificate.
final class LegacyConnection: Sendable {
    /// The size of an error packet, in bytes (Guide, Figure A-2).
    static let packetBytes = 6

    /// The bytes that were read, and how reading ended.
    struct Answer: Sendable {
        var bytes: ByteBuffer
        /// Whether the service closed the connection in good order.
        var isWhole: Bool
        /// Whether the time was exceeded.
        var isLate = false
        /// Whether the TLS handshake failed, so that nothing was sent.
        var hasNoTLS = false
        /// How the connection ended, in words.
        var cause: String
    }

    private let channel: any Channel
    private let reader: NIOLoopBound<LegacyReader>

    /// The time for opening a connection, and then for a proxy's tunnel.
    private static let timeout = TimeAmount.seconds(10)

    /// Opens a connection. Returns before the TLS handshake is complete.
    /// - Parameters:
    ///   - proxy: the proxy through which the service is reached; nil for a direct connection.
    ///   - limit: the largest number of bytes to read.
    static func connect(
        to environment: APNSEnvironment,
        through proxy: HTTPProxy?,
        _ credentials: ProviderCredentials,
        reading limit: Int,
        _ group: any EventLoopGroup,
    ) async throws(ProviderError) -> LegacyConnection {
        let context = try environment.tls(credentials, protocols: [])
        let begin: @Sendable (any Channel) throws -> LegacyConnection = { channel in
            let tls = try NIOSSLClientHandler(context: context, serverHostname: environment.tlsName)
            let reader = LegacyReader(limit: limit, eventLoop: channel.eventLoop)
            try channel.pipeline.syncOperations.addHandlers(tls, reader)
            return LegacyConnection(channel: channel, reader: NIOLoopBound(reader, eventLoop: channel.eventLoop))
        }
        let bootstrap = ClientBootstrap(group: group).connectTimeout(timeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        do {
            guard let proxy else {
                return try await bootstrap.connect(host: environment.host, port: environment.port) { channel in
                    channel.eventLoop.makeCompletedFuture { try begin(channel) }
                }
            }
            let channel = try await bootstrap.connect(host: proxy.host, port: proxy.port).get()
            return try await channel.eventLoop.flatSubmit {
                tunnel(on: channel, through: proxy, to: environment, begin)
            }.get()
        } catch {
            throw ProviderError(
                .cannotConnect,
                "No connection to \(environment.host):\(environment.port): \(ConnectionFailure.cause(of: error))")
        }
    }

    /// Asks a proxy for a tunnel on an open connection, and begins TLS in it.
    private static func tunnel(
        on channel: any Channel,
        through proxy: HTTPProxy,
        to environment: APNSEnvironment,
        _ begin: @escaping @Sendable (any Channel) throws -> LegacyConnection,
    ) -> EventLoopFuture<LegacyConnection> {
        let promise = channel.eventLoop.makePromise(of: LegacyConnection.self)
        let handler = ProxyHandler(
            proxy, to: environment.host, environment.port,
            opened: { promise.succeed(try begin($0)) },
            failed: { promise.fail(HostLookup.Failure(description: $0)) })
        do {
            try channel.pipeline.syncOperations.addHandler(handler)
        } catch {
            promise.fail(error)
        }
        let timer = channel.eventLoop.assumeIsolated().scheduleTask(in: timeout) {
            handler.giveUp("the proxy has not answered")
        }
        promise.futureResult.whenComplete { _ in timer.cancel() }
        return promise.futureResult
    }

    private init(channel: any Channel, reader: NIOLoopBound<LegacyReader>) {
        self.channel = channel
        self.reader = reader
    }

    var isOpen: Bool { channel.isActive }

    /// Writes bytes and returns when the system has taken all of them. If the service does not take them within the limit, or
    /// if the task is cancelled, the connection is closed.
    func write(_ bytes: ByteBuffer, within limit: TimeAmount) async throws {
        let timer = channel.eventLoop.scheduleTask(in: limit) { [channel] in channel.close(promise: nil) }
        defer { timer.cancel() }
        try await withTaskCancellationHandler {
            try await channel.writeAndFlush(bytes)
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    /// Reads until the limit is reached or the service closes the connection. If the task is cancelled, the
    /// connection is closed.
    func read(within limit: TimeAmount) async -> Answer {
        let promise = channel.eventLoop.makePromise(of: Answer.self)
        channel.eventLoop.execute { [reader] in reader.value.read(within: limit, promise) }
        return await withTaskCancellationHandler {
            do {
                return try await promise.futureResult.get()
            } catch {
                return Answer(bytes: ByteBuffer(), isWhole: false, cause: ConnectionFailure.cause(of: error))
            }
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    /// Closes the connection.
    func close() async {
        // If the connection has already ended, closing it fails, which does not matter.
        try? await channel.close()
    }
}

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
        /// How the connection ended, in words.
        var cause: String
    }

    private let channel: any Channel
    private let reader: NIOLoopBound<LegacyReader>

    /// Opens a connection. Returns before the TLS handshake is complete.
    /// - Parameter limit: the largest number of bytes to read.
    static func connect(
        to environment: APNSEnvironment,
        _ credentials: ProviderCredentials,
        reading limit: Int,
        _ group: any EventLoopGroup,
    ) async throws(ProviderError) -> LegacyConnection {
        let context = try environment.tls(credentials, protocols: [])
        do {
            return try await ClientBootstrap(group: group).connectTimeout(.seconds(10))
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .connect(host: environment.host, port: environment.port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let tls = try NIOSSLClientHandler(context: context, serverHostname: environment.tlsName)
                        let reader = LegacyReader(limit: limit, eventLoop: channel.eventLoop)
                        try channel.pipeline.syncOperations.addHandlers(tls, reader)
                        return LegacyConnection(
                            channel: channel, reader: NIOLoopBound(reader, eventLoop: channel.eventLoop))
                    }
                }
        } catch {
            throw ProviderError(
                .cannotConnect,
                "No connection to \(environment.host):\(environment.port): \(ConnectionFailure.cause(of: error))")
        }
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

import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// A TLS connection on which a test sends bytes that no client library would send.
final class ByteClient {
    private let channel: any Channel
    private let arriving: AsyncStream<[UInt8]>
    private var unread: ArraySlice<UInt8> = []

    /// - Parameters:
    ///   - protocols: what the client offers in its handshake (ALPN).
    ///   - receiving: how many bytes the system may keep for it unread; nil leaves that to the system.
    static func connect(
        port: Int,
        authorityFile: String,
        certificate: ClientCertificate? = nil,
        protocols: [String] = [],
        serverName: String? = nil,
        receiving: Int? = nil,
    ) async throws -> ByteClient {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.applicationProtocols = protocols
        tls.trustRoots = .file(authorityFile)
        if let certificate {
            tls.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.chainPEM.utf8))
                .map { .certificate($0) }
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(certificate.keyPEM.utf8), format: .pem))
        }
        let context = try NIOSSLContext(configuration: tls)
        let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        if let receiving {
            bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: SocketOptionValue(receiving))
                // With large segments the system keeps megabytes for the sender.
                .channelOption(.tcpOption(.init(rawValue: TCP_MAXSEG)), value: 536)
        }
        let channel =
            try await bootstrap
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        NIOSSLClientHandler(context: context, serverHostname: serverName), Arrivals(continuation))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        let client = ByteClient(channel, stream)
        // This write is completed after the handshake, so the method returns after the handshake.
        try await client.write([])
        return client
    }

    private init(_ channel: any Channel, _ stream: AsyncStream<[UInt8]>) {
        self.channel = channel
        arriving = stream
    }

    /// Reads nothing more from the socket.
    func stopReading() async throws { try await channel.setOption(.autoRead, value: false).get() }

    func write(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

    /// Returns exactly this many bytes; nil if the connection ends before.
    func read(_ count: Int) async -> [UInt8]? {
        guard count > unread.count else { return take(count) }
        for await more in arriving {
            unread += more
            if unread.count >= count { return take(count) }
        }
        return nil
    }

    private func take(_ count: Int) -> [UInt8] {
        defer { unread = unread.dropFirst(count) }
        return Array(unread.prefix(count))
    }

    /// Returns everything that arrives until the connection ends.
    func readToEnd() async -> [UInt8] {
        for await more in arriving { unread += more }
        defer { unread = [] }
        return Array(unread)
    }

    /// Closes the connection, and waits until the other side has closed it too.
    func close() async {
        // This fails if the service has closed the connection already.
        try? await channel.close()
        _ = await readToEnd()
    }
}

/// Passes on what arrives, until the connection ends.
final class Arrivals: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    private let continuation: AsyncStream<[UInt8]>.Continuation

    init(_ continuation: AsyncStream<[UInt8]>.Continuation) { self.continuation = continuation }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        continuation.yield(Array(unwrapInboundIn(data).readableBytesView))
    }

    func channelInactive(context: ChannelHandlerContext) { continuation.finish() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

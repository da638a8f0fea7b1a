import CommonTesting
package import APNSProvider
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// A server on loopback that does not speak HTTP/2.
package enum RawServer {
    /// What the server does with a connection.
    package enum Manner: Sendable {
        /// It accepts the connection and sends nothing, not even TLS.
        case silent
        /// It sends this over TLS as the answer to anything.
        case answering(String)
        /// It sends this after the TLS handshake, as the feedback service does, and then closes the connection or
        /// leaves it open.
        case saying([UInt8], closes: Bool)
    }

    private final class Speaker: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let manner: Manner

        init(_ manner: Manner) { self.manner = manner }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .answering(let text) = manner else { return }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard case .handshakeCompleted = event as? TLSUserEvent, case .saying(let bytes, let closes) = manner else {
                return
            }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            if closes { context.close(promise: nil) }
        }

        // If the client ends the connection with an error, close it.
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    /// Runs a server while `body` runs.
    package static func run(_ manner: Manner, _ body: (APNSEnvironment) async throws -> Void) async throws {
        let tls = try TestAuthority.serverContext(protocols: [])
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if case .silent = manner { return }
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
                    try channel.pipeline.syncOperations.addHandler(Speaker(manner))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let environment = APNSEnvironment(
            host: "127.0.0.1", port: listener.localAddress?.port ?? 0, authority: .pem(try TestAuthority.rootPEM()))
        try await withCleanUp {
            try await body(environment)
        } cleanUp: {
            try await listener.close()
        }
    }
}

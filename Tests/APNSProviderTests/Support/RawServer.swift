import NIOCore
import NIOPosix
import NIOSSL

@testable import APNSProvider

/// A server that is no HTTP/2 server: it says one thing, or nothing.
enum RawServer {
    private final class Speaker: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let text: String

        init(_ text: String) { self.text = text }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        }

        // Whoever is disappointed goes.
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    /// - Parameter text: what it answers over TLS to the first bytes; nil for one that does not even begin TLS.
    static func run(answering text: String?, _ body: (APNSEnvironment) async throws -> Void) async throws {
        let tls = try TestAuthority.serverContext()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let text else { return }
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
                    try channel.pipeline.syncOperations.addHandler(Speaker(text))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let environment = APNSEnvironment(
            host: "127.0.0.1", port: listener.localAddress?.port ?? 0, authority: .pem(try TestAuthority.rootPEM()))
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(environment))
        } catch {
            result = .failure(error)
        }
        try await listener.close()
        try result.get()
    }
}

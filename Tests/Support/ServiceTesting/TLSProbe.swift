import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// A TLS client that does a handshake and nothing else.
enum TLSProbe {
    /// Completes a handshake on 127.0.0.1, and closes the connection.
    /// - Parameters:
    ///   - authority: what the client trusts, in PEM.
    ///   - serverName: the name that it asks for, and checks.
    /// - Returns: the protocol that was agreed on.
    /// - Throws: if the handshake fails, on either side.
    @discardableResult
    static func shakeHands(
        port: Int,
        trusting authority: [String],
        serverName: String? = nil,
        _ change: (inout TLSConfiguration) -> Void = { _ in },
    ) async throws -> String? {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(try authority.flatMap { try NIOSSLCertificate.fromPEMBytes(Array($0.utf8)) })
        tls.applicationProtocols = ["h2"]
        change(&tls)
        let context = try NIOSSLContext(configuration: tls)
        let done = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: String?.self)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = try NIOSSLClientHandler(context: context, serverHostname: serverName)
                    try channel.pipeline.syncOperations.addHandlers(handler, HandshakeWait(done))
                }
            }
            .connect(host: "127.0.0.1", port: port)
            .flatMapErrorThrowing { error in
                done.fail(error)
                throw error
            }.get()
        defer { channel.close(promise: nil) }
        return try await done.futureResult.get()
    }
}

/// Reports how the handshake ended.
private final class HandshakeWait: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let done: EventLoopPromise<String?>

    init(_ done: EventLoopPromise<String?>) { self.done = done }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let agreed) = event as? TLSUserEvent { done.succeed(agreed) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        done.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        done.fail(ChannelError.eof)
        context.fireChannelInactive()
    }
}

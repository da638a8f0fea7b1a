import NIOCore

/// Reads a connection's ClientHello. Then it adds TLS and removes itself, or refuses the connection with a TLS alert.
final class ClientHelloHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// A fatal alert in its own record (RFC 8446, 6): 120 is no_application_protocol, for a client that offers no
    /// protocol of the server (RFC 7301, 3.2).
    private static let refusal: [UInt8] = [21, 3, 3, 0, 2, 2, 120]

    private let decide: (ClientHello?) throws -> Bool
    private var bytes = ByteBuffer()
    private var isDecided = false

    /// - Parameter decide: adds TLS after this handler, or returns false to refuse the connection. Called once, without
    ///   a ClientHello if the first bytes are something else.
    init(decide: @escaping (ClientHello?) throws -> Bool) { self.decide = decide }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDecided else { return }
        var read = unwrapInboundIn(data)
        bytes.writeBuffer(&read)
        switch ClientHello.read(bytes) {
        case .incomplete: break
        case .hello(let hello): go(context, hello)
        case .unreadable: go(context, nil)
        }
    }

    private func go(_ context: ChannelHandlerContext, _ hello: ClientHello?) {
        isDecided = true
        do {
            guard try decide(hello) else {
                let refusal = context.channel.allocator.buffer(bytes: Self.refusal)
                return context.writeAndFlush(wrapOutboundOut(refusal)).assumeIsolated().whenComplete { _ in
                    context.close(promise: nil)
                }
            }
            context.fireChannelRead(wrapInboundOut(bytes))
            context.fireChannelReadComplete()
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }
}

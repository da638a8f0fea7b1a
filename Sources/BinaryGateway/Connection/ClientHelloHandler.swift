import NIOCore
import NIOSSL

/// Reads a connection's ClientHello and puts TLS in its own place, or refuses the connection with TLS's own words.
final class ClientHelloHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// A fatal alert in a record of its own (RFC 8446, 6): 120 is no_application_protocol, what a server answers that
    /// has none of the protocols a client offers (RFC 7301, 3.2).
    private static let refusal: [UInt8] = [21, 3, 3, 0, 2, 2, 120]

    private let decide: (ClientHello?) -> NIOSSLServerHandler?
    private var bytes = ByteBuffer()
    private var isDecided = false

    /// - Parameter decide: makes the connection's TLS; nil to refuse it. Called once, without a ClientHello where the
    ///   first bytes are none.
    init(decide: @escaping (ClientHello?) -> NIOSSLServerHandler?) { self.decide = decide }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDecided else { return }
        var read = unwrapInboundIn(data)
        bytes.writeBuffer(&read)
        let reading = bytes.withUnsafeReadableBytes { ClientHello.read($0.bindMemory(to: UInt8.self).span) }
        switch reading {
        case .incomplete: break
        case .hello(let hello): go(context, decide(hello))
        case .unreadable: go(context, decide(nil))
        }
    }

    private func go(_ context: ChannelHandlerContext, _ tls: NIOSSLServerHandler?) {
        isDecided = true
        guard let tls else {
            let refusal = context.channel.allocator.buffer(bytes: Self.refusal)
            return context.writeAndFlush(wrapOutboundOut(refusal)).assumeIsolated().whenComplete { _ in
                context.close(promise: nil)
            }
        }
        do {
            let pipeline = context.pipeline.syncOperations
            try pipeline.addHandler(tls, position: .after(self))
            context.fireChannelRead(wrapInboundOut(bytes))
            context.fireChannelReadComplete()
            pipeline.removeHandler(self, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }
}

package import NIOCore

/// Reads a connection's ClientHello. Then it adds TLS and removes itself, refuses the connection with a TLS alert, or
/// does what a rehearsal says.
final class ClientHelloHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What to do when the ClientHello has come.
    enum Decision {
        /// TLS is after this handler.
        case secure
        /// Add TLS with ``ClientHelloHandler/secure`` after this time.
        case later(TimeAmount, secure: () throws -> Void)
        /// Send an alert, and close the connection.
        case refuse(TLSAlert)
        case reset
        /// Do nothing. Somebody else closes the connection.
        case ignore
    }

    private let decide: (ClientHello?) throws -> Decision
    private var bytes = ByteBuffer()
    private var reader = ClientHello.Reader()
    private var isDecided = false
    /// Whether the bytes wait until TLS is added.
    private var isWaiting = false
    private var timer: Scheduled<Void>?

    /// The largest number of bytes that wait until TLS is added: more than any ClientHello, which TLS then refuses.
    private static let maximumWaitingBytes = 64 * 1024

    /// - Parameter decide: decides, and adds TLS after this handler if that is the decision. Called once, without a
    ///   ClientHello if the first bytes are something else.
    init(decide: @escaping (ClientHello?) throws -> Decision) { self.decide = decide }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDecided else {
            // A client waits for the answer to its ClientHello, so these are only bytes that it sent without waiting.
            guard isWaiting, bytes.readableBytes < Self.maximumWaitingBytes else { return }
            var read = unwrapInboundIn(data)
            bytes.writeBuffer(&read)
            return
        }
        var read = unwrapInboundIn(data)
        bytes.writeBuffer(&read)
        switch reader.read(bytes) {
        case .incomplete: break
        case .hello(let hello): go(context, hello)
        case .unreadable: go(context, nil)
        }
    }

    private func go(_ context: ChannelHandlerContext, _ hello: ClientHello?) {
        isDecided = true
        do {
            switch try decide(hello) {
            case .secure: pass(context)
            case .later(let time, let secure):
                isWaiting = true
                let handler = NIOLoopBound((self, context, secure), eventLoop: context.eventLoop)
                timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) {
                    let (handler, context, secure) = handler.value
                    handler.timer = nil
                    do {
                        try secure()
                        handler.pass(context)
                    } catch {
                        context.close(promise: nil)
                    }
                }
            case .refuse(let alert):
                let refusal = context.channel.allocator.buffer(bytes: alert.record)
                context.writeAndFlush(wrapOutboundOut(refusal)).assumeIsolated().whenComplete { _ in
                    context.close(promise: nil)
                }
            case .reset: AbruptEnd.close(context.channel)
            case .ignore: bytes = ByteBuffer()
            }
        } catch {
            context.close(promise: nil)
        }
    }

    private func pass(_ context: ChannelHandlerContext) {
        context.fireChannelRead(wrapInboundOut(bytes))
        context.fireChannelReadComplete()
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }
}

/// Refuses a TLS client that offers only protocols which the server does not speak, for servers that add TLS themselves.
package enum ClientHelloCheck {
    /// Adds the check to a new connection. TLS has to come behind it.
    /// - Parameter protocols: the server's own, as in its TLS configuration.
    package static func add(to channel: any Channel, protocols: [String]) throws {
        let handler = ClientHelloHandler { hello in
            guard let hello else { return .refuse(.unexpectedMessage) }
            return hello.offersOthers(than: protocols) ? .refuse(.noApplicationProtocol) : .secure
        }
        try channel.pipeline.syncOperations.addHandler(handler)
    }
}

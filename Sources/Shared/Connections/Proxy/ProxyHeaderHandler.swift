import NIOCore

/// The first handler of a connection from a load balancer. It reads the PROXY header, has the connection set up for the
/// client that the header names, and removes itself. Confined to the connection's event loop.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Adds the connection's handlers after this one, for this client, and says whether a header has named it.
    private let setUp: (_ client: SocketAddress?, _ isNamed: Bool) throws -> Void
    private let isRequired: Bool
    private let refused: (_ cause: String) -> Void
    private let timeout: TimeAmount
    private var received = ByteBuffer()
    private var deadline: Scheduled<Void>?

    /// - Parameters:
    ///   - isRequired: whether a connection without a header is closed.
    ///   - timeout: the time that the balancer may take for the header.
    ///   - refused: called with the reason if a connection is closed.
    init(
        isRequired: Bool = true,
        timeout: TimeAmount,
        refused: @escaping (_ cause: String) -> Void,
        setUp: @escaping (_ client: SocketAddress?, _ isNamed: Bool) throws -> Void,
    ) {
        self.isRequired = isRequired
        self.timeout = timeout
        self.refused = refused
        self.setUp = setUp
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard deadline == nil else { return }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        deadline = context.eventLoop.scheduleTask(in: timeout) {
            let (handler, context) = bound.value
            handler.refuse(context, "No PROXY header came in time.")
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        received.writeBuffer(&bytes)
        switch ProxyHeader.read(received.readableBytesView) {
        case .incomplete: break
        case .invalid where !isRequired: finish(context, context.channel.remoteAddress, isNamed: false)
        case .invalid: refuse(context, "It does not begin with a PROXY header.")
        case .complete(let client, let length):
            received.moveReaderIndex(forwardBy: length)
            finish(context, client ?? context.channel.remoteAddress, isNamed: true)
        }
    }

    private func finish(_ context: ChannelHandlerContext, _ client: SocketAddress?, isNamed: Bool) {
        deadline?.cancel()
        do {
            try setUp(client, isNamed)
        } catch {
            // The connection was counted and reported where it was refused.
            return context.close(promise: nil)
        }
        if received.readableBytes > 0 {
            context.fireChannelRead(wrapInboundOut(received))
            context.fireChannelReadComplete()
        }
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    private func refuse(_ context: ChannelHandlerContext, _ cause: String) {
        refused(cause)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        context.fireChannelInactive()
    }
}

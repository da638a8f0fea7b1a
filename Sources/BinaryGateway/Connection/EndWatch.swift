import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The handler next to the socket: learns whether a client has read everything before it closed.
///
/// That TLS and the socket were closed in good order does not say so: a client may have closed before the last bytes
/// reached it, or with bytes unread. Its system then sends a reset, sooner or later. So the service says that it is done
/// in TLS alone, keeps the socket open until the client has closed its side, and then looks whether all bytes were
/// acknowledged and no reset came.
final class EndWatch: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Whether the client has read everything and closed.
    private(set) var endedWell = false
    private var isWatching = false
    private var hasEnded = false
    private var context: ChannelHandlerContext?
    private var held: [EventLoopPromise<Void>] = []

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// From now on the socket stays open until the client has closed it, or ``closeNow()``.
    func watch() { isWatching = true }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard isWatching, context.channel.isActive else { return context.close(mode: mode, promise: promise) }
        if let promise { held.append(promise) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .inputClosed = event as? ChannelEvent else { return context.fireUserInboundEventTriggered(event) }
        guard isWatching else { return context.close(promise: nil) }
        hasEnded = true
        judge(context)
    }

    /// Looks again where the client's system has not acknowledged everything yet. Called about once a second.
    func tick() {
        if hasEnded, let context { judge(context) }
    }

    /// Closes without waiting for anything.
    func closeNow() { context?.close(promise: nil) }

    func channelInactive(context: ChannelHandlerContext) {
        for promise in held { promise.succeed() }
        held = []
        context.fireChannelInactive()
    }

    private func judge(_ context: ChannelHandlerContext) {
        guard let options = context.channel as? any SocketOptionProvider else { return context.close(promise: nil) }
        let error = options.unsafeGetSocketOption(level: .socket, name: .so_error) as EventLoopFuture<CInt>
        error.and(Self.unacknowledged(options)).assumeIsolated().whenComplete { [weak self] result in
            guard let self, case .success((let error, let unacknowledged)) = result, error == 0 else {
                return context.close(promise: nil)
            }
            guard unacknowledged == 0 else { return }
            endedWell = true
            context.close(promise: nil)
        }
    }

    /// How many segments the client's system has not acknowledged.
    private static func unacknowledged(_ options: any SocketOptionProvider) -> EventLoopFuture<UInt32> {
        #if os(Linux)
            options.getTCPInfo().map(\.tcpi_unacked)
        #else
            // Elsewhere the reset has to have come by now.
            options.eventLoop.makeSucceededFuture(0)
        #endif
    }
}

import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The handler next to the socket. It finds out whether a client has read everything before it closed the connection.
///
/// An orderly close of TLS and the socket does not prove this. A client may have closed before the last bytes
/// arrived, or with unread bytes. Its system then sends a reset sooner or later. So the service ends only TLS, and
/// keeps the socket open until the client has closed its side. Then it checks that all bytes were acknowledged and
/// that no reset came.
///
/// Some clients keep the connection open. So the handler also checks, about once a second, whether the client's
/// system has acknowledged everything. More cannot be known about such a client.
final class EndWatch: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Whether the client has read everything and then closed.
    private(set) var endedWell = false
    /// Called once, if the client's system acknowledges everything before the client closes.
    var whenAcknowledged: (() -> Void)?
    private var isWatching = false
    private var hasEnded = false
    private var context: ChannelHandlerContext?
    private var held: [EventLoopPromise<Void>] = []

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// Keeps the socket open from now on, until the client has closed it or ``closeNow()`` is called.
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

    /// Checks whether the client's system has acknowledged everything. Called about once a second.
    func tick() {
        guard let context else { return }
        if hasEnded { return judge(context) }
        guard isWatching, let acknowledged = whenAcknowledged, Self.isEverythingAcknowledged(context) else { return }
        whenAcknowledged = nil
        acknowledged()
    }

    /// Whether the system has no unsent and no unacknowledged bytes.
    private static func isEverythingAcknowledged(_ context: ChannelHandlerContext) -> Bool {
        #if os(Linux)
            let waiting = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                of: NIOBSDSocket.Handle.self
            ) { socket in
                var waiting: CInt = -1
                // SIOCOUTQ, which this call means, has the same number as TIOCOUTQ.
                return ioctl(socket, UInt(TIOCOUTQ), &waiting) == 0 ? waiting : -1
            }
            return waiting == 0
        #else
            // Other systems cannot tell, so wait until the client closes.
            return false
        #endif
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

    /// The number of segments that the client's system has not acknowledged.
    private static func unacknowledged(_ options: any SocketOptionProvider) -> EventLoopFuture<UInt32> {
        #if os(Linux)
            options.getTCPInfo().map(\.tcpi_unacked)
        #else
            // Other systems cannot tell. If the client's system sends a reset, it has come by now.
            options.eventLoop.makeSucceededFuture(0)
        #endif
    }
}

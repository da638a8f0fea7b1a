import HummingbirdCore
import Logging
import NIOCore

/// Closes a connection on which no request is under way for too long, whatever the client does or leaves out: it may never
/// begin the TLS handshake, or never answer the PING with which HTTP/2 ends a connection. Hummingbird waits for such clients
/// without a limit, so a few thousand of them would take all connections, and one of them would keep the server from
/// ending. Confined to the channel's event loop.
final class ConnectionGuard: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    /// The times after which a connection is closed.
    struct Times: Sendable {
        /// For a connection without a request. It is a little longer than the idle timeout, so that a client that behaves
        /// well gets GOAWAY first.
        var idle: TimeAmount
        /// For the requests under way when the server ends.
        var ending: TimeAmount
        /// For a connection without a request when the server ends: for GOAWAY and its answer.
        var idleEnding: TimeAmount
    }

    private let times: Times
    /// How many requests have begun and have no complete answer.
    private var requests = 0
    private var isEnding = false
    private var alarm: Scheduled<Void>?
    private var context: ChannelHandlerContext?

    init(_ times: Times) { self.times = times }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        schedule(in: times.idle)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        alarm?.cancel()
        self.context = nil
    }

    /// A request has begun on this connection.
    func requestBegan() {
        requests += 1
        if !isEnding { alarm?.cancel() }
    }

    /// Some requests have got their complete answers, or will get none.
    func requestsEnded(_ count: Int = 1) {
        guard count > 0 else { return }
        requests -= count
        if requests == 0 { schedule(in: isEnding ? times.idleEnding : times.idle) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            isEnding = true
            schedule(in: requests == 0 ? times.idleEnding : times.ending)
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func schedule(in time: TimeAmount) {
        alarm?.cancel()
        // This handler is the first one. So closing does not wait for the client to answer the end of TLS.
        alarm = context?.eventLoop.assumeIsolated().scheduleTask(in: time) { self.context?.close(promise: nil) }
    }
}

/// Adds a ``ConnectionGuard`` to each connection of a server.
struct GuardedChannel<Base: HTTPChannelHandler>: HTTPChannelHandler {
    let base: Base
    let times: ConnectionGuard.Times

    var responder: Responder { base.responder }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        do {
            try channel.pipeline.syncOperations.addHandler(ConnectionGuard(times))
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
        return base.setup(channel: channel, logger: logger)
    }

    func handle(value: Base.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}

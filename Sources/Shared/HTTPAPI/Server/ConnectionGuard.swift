package import HummingbirdCore
package import Logging
package import NIOCore

/// Closes a connection on which no request is under way for too long, whatever the client does or leaves out: it may never
/// begin the TLS handshake, or never read GOAWAY, with which HTTP/2 ends a connection. Hummingbird waits for such clients
/// without a limit, so a few thousand of them would take all connections, and one of them would keep the server from
/// ending. Confined to the channel's event loop.
package final class ConnectionGuard: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = NIOAny

    /// The times after which a connection is closed.
    package struct Times: Sendable {
        /// For a connection that has not had a request yet.
        package var first: TimeAmount
        /// For a connection without a request.
        package var idle: TimeAmount
        /// For the requests under way when the server ends; nil for no limit.
        package var ending: TimeAmount?
        /// For a connection without a request when the server ends: for GOAWAY and its answer. Nil closes it at once.
        package var idleEnding: TimeAmount?

        package init(first: TimeAmount, idle: TimeAmount, ending: TimeAmount? = nil, idleEnding: TimeAmount? = nil) {
            self.first = first
            self.idle = idle
            self.ending = ending
            self.idleEnding = idleEnding
        }
    }

    private let times: Times
    /// Called with the time at which the connection became idle, and with nil when it gets a request.
    private let idleChanged: (NIODeadline?) -> Void
    /// How many requests have begun and have no complete answer.
    package private(set) var requests = 0
    /// When the connection became idle, or when the answer to the oldest request could begin.
    package private(set) var since = NIODeadline.now()
    private var isEnding = false
    private var alarm: Scheduled<Void>?
    private var context: ChannelHandlerContext?

    package init(_ times: Times, idleChanged: @escaping (NIODeadline?) -> Void = { _ in }) {
        self.times = times
        self.idleChanged = idleChanged
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        since = context.eventLoop.now
        schedule(in: times.first)
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        alarm?.cancel()
        self.context = nil
    }

    /// A request has begun on this connection.
    package func requestBegan() {
        requests += 1
        if !isEnding { alarm?.cancel() }
        guard requests == 1 else { return }
        since = now
        idleChanged(nil)
    }

    /// Some requests have got their complete answers, or will get none.
    package func requestsEnded(_ count: Int = 1) {
        guard count > 0 else { return }
        requests -= count
        since = now
        guard requests == 0 else { return }
        idleChanged(since)
        schedule(in: isEnding ? times.idleEnding : times.idle)
    }

    /// Everything that was written has been passed to the system.
    func flushed() {
        if isEnding, requests == 0, times.idleEnding == nil { context?.close(promise: nil) }
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { end() }
        context.fireUserInboundEventTriggered(event)
    }

    /// The connection ends after the answers to the requests under way.
    package func end() {
        isEnding = true
        if requests == 0, times.idleEnding == nil { context?.close(promise: nil) }
        schedule(in: requests == 0 ? times.idleEnding : times.ending)
    }

    /// The next answer is the last one, and a connection without a request may have one more.
    package func endAfterAnswer() { isEnding = true }

    private var now: NIODeadline { context?.eventLoop.now ?? .now() }

    private func schedule(in time: TimeAmount?) {
        alarm?.cancel()
        guard let time else { return }
        // This handler is the first one. So closing does not wait for the client to answer the end of TLS.
        alarm = context?.eventLoop.assumeIsolated().scheduleTask(in: time) { self.context?.close(promise: nil) }
    }
}

/// Adds a ``ConnectionGuard`` to each connection of a server.
package struct GuardedChannel<Base: HTTPChannelHandler>: HTTPChannelHandler {
    private let base: Base
    private let times: ConnectionGuard.Times

    package init(base: Base, times: ConnectionGuard.Times) {
        self.base = base
        self.times = times
    }

    package var responder: Responder { base.responder }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        do {
            try channel.pipeline.syncOperations.addHandler(ConnectionGuard(times))
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
        return base.setup(channel: channel, logger: logger)
    }

    package func handle(value: Base.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}

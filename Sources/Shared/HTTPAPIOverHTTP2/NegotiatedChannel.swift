import Connections
import HTTP2
package import HTTPAPI
package import HummingbirdCore
package import Logging
package import NIOCore
package import NIOSSL
import NIOTLS

/// Serves each connection of one of Hummingbird's servers with TLS, and with HTTP/2 or HTTP/1.1 as the client agrees to.
package struct NegotiatedChannel: ServerChildChannel {
    /// Answers a request over HTTP/2.
    package typealias Respond = @Sendable (Request, any Channel) async throws -> Response

    package struct Value: ServerChildChannelValue {
        package let channel: any Channel
        fileprivate let agreed: EventLoopFuture<Agreed>
    }

    fileprivate enum Agreed: Sendable {
        case http1(HTTP1Channel.Value)
        /// Succeeds when the connection and the tasks of its requests have ended.
        case http2(EventLoopFuture<Void>)
    }

    /// What is spoken here, by the names in ALPN. The first is preferred.
    package static let protocols = ["h2", "http/1.1"]

    private let tls: NIOSSLContext
    private let http1: HTTP1Channel
    private let rules: RequestConnection.Rules
    private let times: ConnectionGuard.Times
    private let whenMalformed: @Sendable (String) -> Void
    private let respond: Respond

    /// - Parameters:
    ///   - tls: offers ``protocols``.
    ///   - http1: serves clients that do not speak HTTP/2.
    ///   - rules: for clients that do.
    ///   - whenMalformed: called with the rule of HTTP/2 that a request breaks.
    package init(
        tls: NIOSSLContext, http1: HTTP1Channel, rules: RequestConnection.Rules, times: ConnectionGuard.Times,
        whenMalformed: @escaping @Sendable (String) -> Void, respond: @escaping Respond,
    ) {
        (self.tls, self.http1, self.rules, self.times) = (tls, http1, rules, times)
        (self.whenMalformed, self.respond) = (whenMalformed, respond)
    }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let guardian = ConnectionGuard(times)
            // The closure is called on the event loop.
            let bound = NIOLoopBound(guardian, eventLoop: channel.eventLoop)
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(guardian)
            try ClientHelloCheck.add(to: channel, protocols: Self.protocols)
            let negotiation = NIOTypedApplicationProtocolNegotiationHandler<Agreed> { result in
                guard case .negotiated("h2") = result else {
                    return http1.setup(channel: channel, logger: logger).map(Agreed.http1)
                }
                return channel.eventLoop.makeCompletedFuture { .http2(try addSession(to: channel, bound.value)) }
            }
            try pipeline.addHandlers(NIOSSLServerHandler(context: tls), negotiation)
            return Value(channel: channel, agreed: negotiation.protocolNegotiationResult)
        }
    }

    private func addSession(to channel: any Channel, _ guardian: ConnectionGuard) throws -> EventLoopFuture<Void> {
        // A client that sends nothing more cannot read either, as far as HTTP/2 is concerned.
        try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
        let requests = RequestConnection(
            rules, guardian, on: channel.eventLoop, whenMalformed: { [whenMalformed] in whenMalformed($0.detail) },
            respond: { [respond] in try await respond($0, channel) })
        let session = HTTP2Session(
            role: .server, configuration: RequestConnection.configuration(), application: requests)
        session.whenFaulty = { [whenMalformed] fault in
            if fault.code != .refusedStream { whenMalformed(fault.description) }
        }
        let ended = channel.eventLoop.makePromise(of: Void.self)
        session.whenEnded = { _ in
            if let work = requests.remainingWork { work.cascade(to: ended) } else { ended.succeed() }
        }
        try channel.pipeline.syncOperations.addHandlers(SessionClock(requests, session), session)
        return ended.futureResult
    }

    package func handle(value: Value, logger: Logger) async {
        do {
            switch try await value.agreed.get() {
            case .http1(let channel): await http1.handle(value: channel, logger: logger)
            case .http2(let ended):
                try await withTaskCancellationHandler {
                    try await ended.get()
                } onCancel: {
                    value.channel.close(promise: nil)
                }
            }
        } catch {
            // The connection ended in its handshake.
        }
    }
}

/// Calls a session's application once a second, and when the server ends. Confined to the channel's event loop.
private final class SessionClock: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    private let connection: RequestConnection
    private let session: HTTP2Session
    private var clock: RepeatedTask?

    init(_ connection: RequestConnection, _ session: HTTP2Session) {
        (self.connection, self.session) = (connection, session)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        clock = context.eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { _ in
            bound.value.connection.tick(now: .now())
            bound.value.session.releaseMemoryIfIdle()
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        clock?.cancel()
        clock = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { connection.drain() }
        context.fireUserInboundEventTriggered(event)
    }
}

package import HTTPTypes
package import NIOCore
import NIOHTTP1
package import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import Notifications

/// Watches the requests of one connection with HTTP/1.1. It closes the channel if a request arrives too slowly, if the client
/// does not read an answer, or if it goes on sending after its answer: a few such clients would otherwise take all
/// connections. Confined to the channel's event loop. With HTTP/2, `RequestConnection` does the same for each stream.
package final class RequestGuard: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPRequestPart
    package typealias InboundOut = HTTPRequestPart
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    private let limits: RequestLimits
    /// When the request that is arriving began; nil if no request is arriving.
    private var began: NIODeadline?
    /// How many bytes of its body have arrived, and how many of them after its answer.
    private var (arrived, drained) = (0, 0)
    /// Checks the request that is arriving.
    private var check: Scheduled<Void>?
    /// Closes the channel if the client does not read.
    private var unread: Scheduled<Void>?
    /// How many requests have begun and have no complete answer.
    private var unanswered = 0
    /// Whether an answer has begun that is not complete.
    private var isAnswering = false
    /// Whether nothing more is read or answered.
    private var hasEnded = false
    /// The guard of the connection, which counts the requests under way.
    private var connection: ConnectionGuard?

    /// Called with each request that breaks a rule of HTTP/1.1.
    private let whenMalformed: (Problem) -> Void
    /// What every refusal has beside its own fields.
    private let fields: HTTPFields

    package init(
        _ limits: RequestLimits, fields: HTTPFields = [:], whenMalformed: @escaping (Problem) -> Void = { _ in }
    ) {
        self.limits = limits
        self.fields = fields
        self.whenMalformed = whenMalformed
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        // Tests of this guard alone have neither. Adding a handler fails only if the channel is being closed.
        connection = try? context.pipeline.syncOperations.handler(type: ConnectionGuard.self)
        if let codec = try? context.pipeline.syncOperations.handler(type: HTTP1ToHTTPServerCodec.self) {
            try? context.pipeline.syncOperations.addHandler(RequestHeadCheck(), position: .before(codec))
        }
    }

    package func handlerRemoved(context: ChannelHandlerContext) { end() }

    package func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    /// Nothing happens any more.
    private func end() {
        check?.cancel()
        unread?.cancel()
        connection?.requestsEnded(unanswered)
        (connection, unanswered) = (nil, 0)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasEnded else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            // The client waits for 100 (Continue) before it sends the body (RFC 9110, 10.1.1).
            if head.waitsForContinue {
                context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
            }
            let now = context.eventLoop.now
            (began, arrived, drained) = (now, 0, 0)
            unanswered += 1
            connection?.requestBegan()
            // The memory for the answers to requests that a client sends ahead has to be bounded.
            guard unanswered <= RequestLimits.requestsAhead else { return context.close(promise: nil) }
            schedule(at: now + limits.request, context)
        case .body(let part):
            arrived += part.readableBytes
            if unanswered == 0 { drained += part.readableBytes }
            // The answer is complete, so nobody needs the rest.
            guard drained <= RequestLimits.drainedBytes else { return linger(context) }
        case .end:
            began = nil
            check?.cancel()
        }
        context.fireChannelRead(data)
    }

    package func read(context: ChannelHandlerContext) {
        if !hasEnded { context.read() }
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // Two answers to one request would confuse the client.
        guard !hasEnded else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        switch unwrapOutboundIn(data) {
        case .head(let head): isAnswering = head.status.kind != .informational
        case .body: break
        case .end:
            isAnswering = false
            if unanswered > 0 {
                unanswered -= 1
                connection?.requestsEnded()
            }
        }
        context.write(data, promise: promise)
    }

    package func flush(context: ChannelHandlerContext) {
        context.flush()
        connection?.flushed()
    }

    // MARK: Slow clients

    private func schedule(at time: NIODeadline, _ context: ChannelHandlerContext) {
        check?.cancel()
        check = context.eventLoop.assumeIsolated().scheduleTask(deadline: time) { self.checkRequest(context) }
    }

    private func checkRequest(_ context: ChannelHandlerContext) {
        guard let began else { return }
        let latest = limits.latestEnd(began: began, arrived: arrived)
        guard context.eventLoop.now >= latest else { return schedule(at: latest, context) }
        refuse(limits.tooSlow, context)
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        defer { context.fireChannelWritabilityChanged() }
        guard !hasEnded else { return }
        unread?.cancel()
        unread = nil
        if !context.channel.isWritable {
            unread = context.eventLoop.assumeIsolated().scheduleTask(in: limits.answer) { context.close(promise: nil) }
        }
    }

    // MARK: Refusals

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The parser also reports each byte that it gets after a fault.
        guard !hasEnded else { return }
        switch error {
        case HTTPParserError.headerOverflow: refuse(RequestLimits.tooManyFields, context)
        case let problem as Problem:
            whenMalformed(problem)
            refuse(problem, context)
        // Hummingbird would answer these itself, also if the request has its answer already.
        case is HTTPParserError, is HTTP1TypeConversionError:
            let problem = Problem(400, "The request cannot be read: it is not HTTP/1.1.")
            whenMalformed(problem)
            refuse(problem, context)
        default: context.fireErrorCaught(error)
        }
    }

    /// Answers the request that is arriving with a problem, and closes the channel. If another answer is not complete,
    /// the channel is closed without this one. If this request has its answer already, it gets no second one.
    private func refuse(_ problem: Problem, _ context: ChannelHandlerContext) {
        let others = began == nil ? unanswered : unanswered - 1
        guard others >= 0 else { return linger(context) }
        guard !isAnswering, others == 0 else { return context.close(promise: nil) }
        var (head, body) = problem.refusal(fields)
        // A client that did not know would send its next request on this connection (RFC 9112, 9.6).
        head.headerFields[.connection] = "close"
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(body)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        linger(context)
    }

    /// Closes the channel after the client had time to read its answer. If the channel were closed now, and the client
    /// still sends, the system would tell the client so at once, and the answer would be lost.
    private func linger(_ context: ChannelHandlerContext) {
        hasEnded = true
        began = nil
        context.close(mode: .output, promise: nil)
        unread?.cancel()
        unread = context.eventLoop.assumeIsolated().scheduleTask(in: RequestLimits.linger) {
            context.close(promise: nil)
        }
    }
}

import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import Notifications

/// Watches the requests of one connection, or of one HTTP/2 stream. It closes the channel if a request arrives too
/// slowly, or if the client does not read an answer: a few such clients would otherwise take all connections.
/// Confined to the channel's event loop.
final class RequestWatch: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let timeout: TimeAmount
    /// When the request that is arriving began; nil if no request is arriving.
    private var began: NIODeadline?
    /// How many bytes of its body have arrived.
    private var arrived = 0
    /// Checks the request that is arriving.
    private var check: Scheduled<Void>?
    /// Closes the channel if the client does not read.
    private var unread: Scheduled<Void>?
    /// How many requests have begun and have no complete answer.
    private var unanswered = 0
    /// Whether an answer has begun that is not complete.
    private var isAnswering = false
    private var hasRefused = false
    /// Whether the client offered an upgrade to another protocol, as Java's client does without TLS. The server ignores the
    /// offer, which is allowed (RFC 9110, 7.8). But SwiftNIO reads nothing after such a request, so the connection ends
    /// after the answer.
    private var hasOfferedUpgrade = false
    /// The guard of the connection, which counts the requests under way.
    private var connection: ConnectionGuard?

    init(timeout: TimeAmount) { self.timeout = timeout }

    func handlerAdded(context: ChannelHandlerContext) {
        // With HTTP/2, this channel is a stream, and its parent is the connection.
        let pipelines = [context.pipeline, context.channel.parent?.pipeline]
        connection = pipelines.lazy.compactMap { try? $0?.syncOperations.handler(type: ConnectionGuard.self) }.first
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    func channelInactive(context: ChannelHandlerContext) {
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

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            // The client waits for 100 (Continue) before it sends the body (RFC 9110, 10.1.1).
            if head.headerFields[.expect]?.lowercased() == "100-continue" {
                context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
            }
            if head.headerFields[.upgrade] != nil { hasOfferedUpgrade = true }
            let now = context.eventLoop.now
            (began, arrived) = (now, 0)
            unanswered += 1
            connection?.requestBegan()
            schedule(at: now + timeout, context)
        case .body(let part): arrived += part.readableBytes
        case .end:
            began = nil
            check?.cancel()
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // Two answers to one request would confuse the client.
        guard !hasRefused else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        switch unwrapOutboundIn(data) {
        case .head(var head):
            isAnswering = true
            if hasOfferedUpgrade { head.headerFields[.connection] = "close" }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            isAnswering = false
            if unanswered > 0 {
                unanswered -= 1
                connection?.requestsEnded()
            }
            guard hasOfferedUpgrade else { return context.write(data, promise: promise) }
            let written = promise ?? context.eventLoop.makePromise()
            context.write(data, promise: written)
            written.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        }
    }

    // MARK: Slow clients

    private func schedule(at time: NIODeadline, _ context: ChannelHandlerContext) {
        check?.cancel()
        check = context.eventLoop.assumeIsolated().scheduleTask(deadline: time) { self.checkRequest(context) }
    }

    private func checkRequest(_ context: ChannelHandlerContext) {
        guard let began else { return }
        // A large import takes longer than any fixed time, so each part of a body allows more time.
        let seconds = Int64(min(arrived / ProviderServerLimits.bodyBytesPerSecond, 1_000_000_000))
        let latest = began + timeout + .seconds(seconds)
        guard context.eventLoop.now >= latest else { return schedule(at: latest, context) }
        refuse(
            APIProblem(
                408,
                "The request arrived too slowly: its body has to be complete in time, with at least "
                    + "\(ProviderServerLimits.bodyBytesPerSecond) bytes a second."), context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        defer { context.fireChannelWritabilityChanged() }
        guard !hasRefused else { return }
        unread?.cancel()
        unread = nil
        if !context.channel.isWritable {
            unread = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { context.close(promise: nil) }
        }
    }

    // MARK: Refusals

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The parser also reports each byte that it gets after a fault.
        guard !hasRefused else { return }
        guard case HTTPParserError.headerOverflow = error else { return context.fireErrorCaught(error) }
        refuse(
            APIProblem(
                431,
                "The header fields may have \(ProviderServerLimits.headerBytes) bytes, and there may be "
                    + "\(ProviderServerLimits.headerFields) of them."), context)
    }

    /// Answers the request that is arriving with a problem, and closes the channel. If another answer is not complete,
    /// the channel is closed without this one.
    private func refuse(_ problem: APIProblem, _ context: ChannelHandlerContext) {
        let others = began == nil ? unanswered : unanswered - 1
        hasRefused = true
        began = nil
        guard !isAnswering, others <= 0 else { return context.close(promise: nil) }
        let (head, body) = problem.closingAnswer
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(body)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        // If the channel were closed now, and the client still sends, the system would tell the client so at once, and
        // the answer would be lost. So the client gets some time to read it.
        context.close(mode: .output, promise: nil)
        unread?.cancel()
        unread = context.eventLoop.assumeIsolated().scheduleTask(in: ProviderServerLimits.lingerTimeout) {
            context.close(promise: nil)
        }
    }
}

extension APIProblem {
    /// The answer for a connection that ends with it.
    fileprivate var closingAnswer: (head: HTTPResponse, body: ByteBuffer) {
        let body = ByteBuffer(string: document.text)
        var head = HTTPResponse(status: HTTPResponse.Status(code: status))
        head.headerFields[.contentType] = "application/problem+json"
        // No `connection`: HTTP/2 does not allow it.
        head.headerFields[.contentLength] = String(body.readableBytes)
        return (head, body)
    }
}

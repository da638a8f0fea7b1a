import Connections
import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Watches one connection of the API. It closes the connection if a request arrives too slowly, if the client does
/// not read an answer, or if the connection is idle for too long. Confined to the connection's event loop.
final class ManagementConnection: ChannelDuplexHandler, RemovableChannelHandler, ServedConnection {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// Adds the HTTP handlers to the channel, including this one.
    typealias Installation = (_ channel: any Channel, _ watch: ManagementConnection) -> Void

    private let channel: any Channel
    private let table: ConnectionTable
    private let entry: ConnectionTable.Entry
    private let installation: Installation
    /// Returns false if the client's certificate was revoked or has expired since the handshake, or if this node cannot
    /// know that.
    private let isTrusted: () -> Bool
    /// When this connection noticed that; nil while the client is trusted.
    private var distrusted: NIODeadline?
    /// How many requests have begun and have no answer yet.
    private var unanswered = 0
    /// When the request that is arriving began; nil if no request is arriving.
    private var arriving: NIODeadline?
    /// When the answer to the oldest unanswered request could begin. Used only while there is such a request.
    private var answering = NIODeadline.now()
    /// When the connection became idle: when it began, or after its last answer.
    private var idle = NIODeadline.now()
    private var hasAnswered = false
    /// When the client stopped reading an answer; nil while it reads.
    private var unread: NIODeadline?
    private var isDraining = false
    /// Whether the client offered an upgrade to another protocol, as curl and Java's client do. The service ignores
    /// the offer, which is allowed (RFC 9110, 7.8). But SwiftNIO reads nothing after such a request, so the
    /// connection ends after the answer.
    private var hasOfferedUpgrade = false

    /// - Returns: nil if there are too many connections and all of them are busy.
    init?(
        _ channel: any Channel,
        in table: ConnectionTable,
        isTrusted: @escaping () -> Bool = { true },
        _ installation: @escaping Installation,
    ) {
        self.channel = channel
        self.table = table
        self.isTrusted = isTrusted
        self.installation = installation
        entry = ConnectionTable.Entry(channel, now: idle)
        guard table.add(entry) else { return nil }
    }

    /// Adds Hummingbird's handlers after those of the listener.
    func addHandlers(to pipeline: ChannelPipeline.SynchronousOperations, before last: any ChannelHandler) throws {
        installation(channel, self)
    }

    func ended() -> EventLoopFuture<Void>? {
        table.remove(entry)
        return nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            unanswered += 1
            if unanswered == 1 { answering = .now() }
            // Limit the requests that a client sends ahead: the memory for their answers has to be bounded.
            guard unanswered <= ManagementLimits.requestsAhead else { return context.close(promise: nil) }
            // The client waits for 100 (Continue) before it sends the body (RFC 9110, 10.1.1).
            if head.headerFields[.expect]?.lowercased() == "100-continue" {
                context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
            }
            if head.headerFields[.upgrade] != nil { hasOfferedUpgrade = true }
            arriving = .now()
            entry.setIdle(since: nil)
        case .body: break
        case .end: arriving = nil
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let part = unwrapOutboundIn(data)
        switch part {
        case .head(var head) where hasOfferedUpgrade && head.status.kind != .informational:
            head.headerFields[.connection] = "close"
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end where hasOfferedUpgrade:
            // Close the connection after the whole answer has been written.
            let written = promise ?? context.eventLoop.makePromise()
            context.write(data, promise: written)
            written.futureResult.assumeIsolated().whenComplete { _ in self.close() }
        default:
            context.write(data, promise: promise)
        }
        guard case .end = part else { return }
        unanswered = max(0, unanswered - 1)
        guard unanswered == 0 else { return answering = .now() }
        hasAnswered = true
        idle = .now()
        entry.setIdle(since: idle)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        if isDraining, unanswered == 0 { context.close(promise: nil) }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        unread = context.channel.isWritable ? nil : .now()
        context.fireChannelWritabilityChanged()
    }

    func tick(now: NIODeadline) {
        if isTrusted() { distrusted = nil } else { endTrust(now) }
        if let unread, unread + ManagementLimits.answerTimeout < now { return close() }
        if let arriving, arriving + ManagementLimits.requestTimeout < now { return close() }
        let patience = hasAnswered ? ManagementLimits.idleTimeout : ManagementLimits.requestTimeout
        if unanswered == 0, idle + patience < now { close() }
    }

    /// Ends the connection of a client whose certificate is no longer valid. Each new request is refused anyway. This
    /// ends streams too, which are requests that were allowed before.
    private func endTrust(_ now: NIODeadline) {
        // The next answer is the last one. It may be the answer to the request that revoked the certificate.
        isDraining = true
        let begin = min(distrusted ?? now, unanswered == 0 ? idle : answering)
        if begin + ManagementLimits.lastAnswer < now { close() }
        distrusted = distrusted ?? now
    }

    func drain() {
        isDraining = true
        if unanswered == 0 { close() }
    }

    func abandon() { close() }

    func close() { channel.close(promise: nil) }
}

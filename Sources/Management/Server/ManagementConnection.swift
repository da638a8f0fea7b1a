import Connections
import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Watches over one connection of the API: ends it if a request comes too slowly, if an answer is not taken, or if nothing
/// happens for too long. Confined to the connection's event loop.
final class ManagementConnection: ChannelDuplexHandler, RemovableChannelHandler, ConnectionHandlerProtocol {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let registry: ConnectionRegistry
    private let table: ConnectionTable
    private let caller: ManagementCaller
    private var context: ChannelHandlerContext?
    /// How many requests have begun and are not answered.
    private var unanswered = 0
    /// Since when a request has been arriving; nil if none is.
    private var arriving: NIODeadline?
    /// Since when the connection has been idle: from its beginning, or from the end of the last answer.
    private var idle = NIODeadline.now()
    private var hasAnswered = false
    /// Since when the client has not read what was written; nil while it reads.
    private var unread: NIODeadline?
    private var isDraining = false

    init(registry: ConnectionRegistry, table: ConnectionTable, caller: ManagementCaller) {
        self.registry = registry
        self.table = table
        self.caller = caller
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let handle = Handle(channel: context.channel)
        guard table.add(handle, on: context.channel, caller: caller, now: idle) else {
            return context.close(promise: nil)
        }
        registry.add(self)
        let (registry, table) = (registry, table)
        let this = NIOLoopBound(self, eventLoop: context.eventLoop)
        let bound = NIOLoopBound(registry, eventLoop: context.eventLoop)
        let channel = context.channel
        channel.closeFuture.whenComplete { _ in
            bound.value.remove(this.value)
            table.remove(channel)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            unanswered += 1
            arriving = .now()
            table.note(context.channel, idleSince: nil)
        case .body: break
        case .end: arriving = nil
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        context.write(data, promise: promise)
        guard case .end = unwrapOutboundIn(data) else { return }
        unanswered = max(0, unanswered - 1)
        guard unanswered == 0 else { return }
        hasAnswered = true
        idle = .now()
        table.note(context.channel, idleSince: idle)
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
        if let unread, unread + ManagementLimits.answerTimeout < now { return close() }
        if let arriving, arriving + ManagementLimits.requestTimeout < now { return close() }
        let patience = hasAnswered ? ManagementLimits.idleTimeout : ManagementLimits.requestTimeout
        if unanswered == 0, idle + patience < now { close() }
    }

    func drain() {
        isDraining = true
        if unanswered == 0 { close() }
    }

    func abandon() { close() }

    func close() { context?.close(promise: nil) }

    /// What the table holds of the connection.
    private final class Handle: ConnectionTable.Connection {
        private let channel: any Channel
        init(channel: any Channel) { self.channel = channel }
        func makeRoom() { channel.close(promise: nil) }
    }
}

import Connections
package import NIOCore
import NIOSSL
import Rates
import Trust

/// The channel handler of a provider's connection, after TLS. It connects the channel with the
/// ``CertifiedConnection`` that answers. Confined to the connection's event loop.
package final class CertifiedChannel: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    package let eventLoop: any EventLoop
    private let accepted: AcceptedConnection
    /// What observed the TLS handshake; nil if nothing did.
    var handshake: (any HandshakeObservation)? { accepted.handshake }
    private let lingerTimeout: TimeAmount
    private var connection: (any CertifiedConnection)?
    private var context: ChannelHandlerContext?
    private let watch = EndWatch()
    private var second = NIODeadline.now()
    /// When the service closed its side; nil until then.
    private var finished: NIODeadline?
    private var isReadHeld = false

    init(
        _ accepted: AcceptedConnection,
        lingerTimeout: TimeAmount,
        _ makeConnection: (CertifiedChannel) -> any CertifiedConnection,
    ) throws {
        eventLoop = accepted.channel.eventLoop
        self.accepted = accepted
        self.lingerTimeout = lingerTimeout
        try accepted.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        try accepted.channel.pipeline.syncOperations.addHandler(watch, position: .first)
        connection = makeConnection(self)
        watch.whenAcknowledged = { [weak self] in self?.connection?.acknowledged() }
    }

    /// What makes unknown apps and devices for this client; nil if nothing does.
    func firstSight(_ certificates: ProviderCertificates) -> (any FirstSight)? {
        certificates.firstSight(for: accepted)
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        connection?.began()
    }

    package func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Ignore bytes that arrive after that.
        if finished == nil { connection?.received(unwrapInboundIn(data)) }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        connection?.readCompleted()
        context.fireChannelReadComplete()
    }

    package func read(context: ChannelHandlerContext) {
        if connection?.isPaused == true { isReadHeld = true } else { context.read() }
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        // Widely used clients close without close_notify, although RFC 8446, 6.1, requires it. That does no harm,
        // because the formats show whether the data is complete.
        case NIOSSLError.uncleanShutdown: break
        // Ignore the error: the service has already sent everything.
        case _ where finished != nil: break
        default: accepted.report("A connection ended unexpectedly", ConnectionFailure.cause(of: error))
        }
    }
}

// MARK: - For the connection

extension CertifiedChannel {
    /// Resumes reading. If a read was requested during the pause, does it now.
    func readIfWanted() {
        guard isReadHeld, connection?.isPaused != true else { return }
        isReadHeld = false
        context?.read()
    }

    /// Reports that the client exceeded a limit.
    func limitExceeded(_ limit: Limit) { accepted.limitExceeded(limit) }

    /// Writes bytes. The future succeeds when the system has taken all of them.
    func write(_ bytes: ByteBuffer) -> EventLoopFuture<Void> {
        guard let context else { return eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel) }
        return context.writeAndFlush(wrapOutboundOut(bytes))
    }

    /// Writes the last bytes and closes this side. The client has some time to close its side as well. Bytes that it
    /// still sends are ignored.
    /// - Parameter isWatched: whether the connection wants to know if the client has read everything.
    func finish(with bytes: ByteBuffer?, isWatched: Bool = false) {
        guard finished == nil, let context else { return }
        finished = second
        if isWatched { watch.watch() }
        if let bytes { context.writeAndFlush(wrapOutboundOut(bytes), promise: nil) }
        context.close(mode: .output, promise: nil)
        readIfWanted()
    }
}

extension CertifiedChannel {
    /// Closes at once without close_notify, as if the machine had failed. For rehearsals.
    func abort() { AbruptEnd.close(accepted.channel) }
}

extension CertifiedChannel: ServedConnection {
    package func addHandlers(
        to pipeline: ChannelPipeline.SynchronousOperations,
        before last: any ChannelHandler,
    ) throws {
        try pipeline.addHandler(self, position: .before(last))
    }

    package func tick(now: NIODeadline) {
        second = now
        watch.tick()
        guard let connection else { return }
        if let finished, finished + lingerTimeout < now {
            limitExceeded(.binaryLingerTimeout)
            return close()
        }
        connection.tick(now: now)
    }

    package func drain() { connection?.drain() }

    package func abandon() { connection?.abandon() }

    /// Closes at once, without close_notify.
    package func close() { watch.closeNow() }

    package func ended() -> EventLoopFuture<Void>? {
        context = nil
        let rest = connection?.ended(well: watch.endedWell)
        connection = nil
        return rest
    }
}

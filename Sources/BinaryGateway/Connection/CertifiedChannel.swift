import Connections
import Logging
package import NIOCore
import NIOSSL
import NIOTLS
import Trust

/// The handler of an accepted connection, after TLS: sees the handshake through, and stands between the channel and what
/// answers it. Confined to the connection's event loop.
package final class CertifiedChannel: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    package let eventLoop: any EventLoop
    /// The client's address, for the log.
    let peer: String
    private let registry: ConnectionRegistry
    private let admission: ConnectionAdmission
    private let timeout: TimeAmount
    private let logger: Logger
    /// Known from the start, or as soon as the handshake has named it.
    private var service: (any CertifiedService)?
    private var identity: ProviderIdentity?
    private var connection: (any CertifiedConnection)?
    private var context: ChannelHandlerContext?
    private let watch = EndWatch()
    private let began = NIODeadline.now()
    private var second = NIODeadline.now()
    /// Since when the service's side is closed.
    private var finished: NIODeadline?
    private var isReadHeld = false
    private var isDraining = false
    private var isReported = false

    private init(_ accepted: Listener.Accepted, timeout: TimeAmount, logger: Logger) {
        eventLoop = accepted.channel.eventLoop
        peer = accepted.channel.remoteAddress?.ipAddress ?? ""
        registry = accepted.registry
        admission = accepted.admission
        self.timeout = timeout
        self.logger = logger
    }

    /// Puts the handlers of a new connection in place.
    static func install(
        on accepted: Listener.Accepted,
        _ choice: ServiceChoice<any CertifiedService>,
        tls: @escaping @Sendable () -> NIOSSLContext,
        timeout: TimeAmount,
        logger: Logger,
    ) throws {
        let handler = CertifiedChannel(accepted, timeout: timeout, logger: logger)
        let hello = ClientHelloHandler { hello in
            guard hello?.offersHTTP2 != true else {
                handler.report("A client wants HTTP/2 on a port of the binary API", "")
                return nil
            }
            switch choice {
            case .always(let service): handler.service = service
            case .byServerName(let choose): handler.service = choose(hello?.serverName)
            }
            return handler.makeTLS(tls())
        }
        try accepted.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        try accepted.channel.pipeline.syncOperations.addHandlers(handler.watch, hello, handler)
    }

    private func makeTLS(_ context: NIOSSLContext) -> NIOSSLServerHandler {
        NIOSSLServerHandler(
            context: context,
            customVerificationCallback: { [weak self] certificates, promise in
                promise.succeed(self?.admit(certificates) == true ? .certificateVerified : .failed)
            },
        )
    }

    private func admit(_ certificates: [NIOSSLCertificate]) -> Bool {
        do {
            identity = try service?.certificates.admit(certificates.map { try $0.toDERBytes() })
            return identity != nil
        } catch {
            report("A client certificate was refused", "\(error)")
            return false
        }
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { registry.add(self) }
    }

    package func channelActive(context: ChannelHandlerContext) {
        registry.add(self)
        context.fireChannelActive()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted = event as? TLSUserEvent { handshakeCompleted(context) }
        context.fireUserInboundEventTriggered(event)
    }

    private func handshakeCompleted(_ context: ChannelHandlerContext) {
        if identity == nil, let certificate = try? context.pipeline.syncOperations.nioSSL_peerCertificate() {
            // A resumed TLS session brings the certificate of the one before it, and no verification: it is judged
            // again here, because it may have expired or been revoked since.
            _ = admit([certificate])
        }
        guard let service, let identity, !isDraining else { return context.close(promise: nil) }
        connection = service.makeConnection(from: identity, on: self)
        connection?.began()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // What comes after the end is thrown away.
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
        // Widely used clients end TLS without saying so (RFC 8446, 6.1 asks for it); the formats tell what is whole.
        case NIOSSLError.uncleanShutdown: break
        case _ where connection == nil: report("A TLS handshake failed", ConnectionFailure.cause(of: error))
        // The service had said all it had to say.
        case _ where finished != nil: break
        default: report("A connection ended before its time", ConnectionFailure.cause(of: error))
        }
        if connection == nil { context.close(promise: nil) }
    }

    package func channelInactive(context: ChannelHandlerContext) {
        let rest = connection?.ended(well: watch.endedWell)
        connection = nil
        self.context = nil
        if let rest {
            // It counts as open until it has done what is left: the listener waits for it.
            rest.assumeIsolated().whenComplete { _ in self.registry.remove(self) }
        } else {
            registry.remove(self)
        }
        context.fireChannelInactive()
    }
}

// MARK: - What the connection may do

extension CertifiedChannel {
    /// Reads again, if somebody wanted to while the connection was paused.
    func readIfWanted() {
        guard isReadHeld, connection?.isPaused != true else { return }
        isReadHeld = false
        context?.read()
    }

    /// A limit struck the client.
    func struck(_ limit: Limit) { admission.struck(limit, peer: peer) }

    /// Writes; the future tells when the system has taken all of it.
    func write(_ bytes: ByteBuffer) -> EventLoopFuture<Void> {
        guard let context else { return eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel) }
        return context.writeAndFlush(wrapOutboundOut(bytes))
    }

    /// Writes the last bytes and closes this side. The other side has a while to close as well; what it still sends is
    /// thrown away.
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

extension CertifiedChannel: ConnectionHandlerProtocol {
    package func tick(now: NIODeadline) {
        second = now
        watch.tick()
        guard let connection else {
            guard began + timeout < now else { return }
            struck(.handshakeTimeout)
            report("A TLS handshake took too long", "\(timeout.nanoseconds / 1_000_000_000) s")
            return close()
        }
        if let finished, let service, finished + service.limits.lingerTimeout < now {
            struck(.binaryLingerTimeout)
            return close()
        }
        connection.tick(now: now)
    }

    package func drain() {
        isDraining = true
        if let connection { connection.drain() } else { close() }
    }

    package func abandon() {
        if let connection { connection.abandon() } else { close() }
    }

    /// Closes at once, without TLS's own words.
    package func close() { watch.closeNow() }

    /// Says once for each connection what went wrong with it.
    private func report(_ message: Logger.Message, _ cause: String) {
        guard !isReported else { return }
        isReported = true
        logger.info(message, metadata: ["peer": .string(peer), "cause": .string(cause)])
    }
}

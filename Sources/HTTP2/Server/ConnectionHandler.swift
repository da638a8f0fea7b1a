import Connections
import Logging
import NIOCore
import NIOSSL
import NIOTLS

/// The first handler of an accepted connection, and the last one as soon as the session stands in front of it: waits for
/// the TLS handshake, sees that HTTP/2 was agreed on, and then puts the session and the service's connection in place. A
/// peer that does none of this is closed in time.
final class ConnectionHandler<Service: HTTP2Service>: ChannelInboundHandler, ConnectionHandlerProtocol {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let registry: ConnectionRegistry
    private let admission: ConnectionAdmission
    private let timeout: TimeAmount
    private let logger: Logger
    /// Known from the start, or as soon as the handshake has named it.
    private var service: Service?
    private var isSecured = false
    private var peer: Service.Peer?
    private var context: ChannelHandlerContext?
    /// TLS's, where they rest.
    private var buffers: TLSBuffers?
    private var session: HTTP2Session?
    private var connection: (any HTTP2Connection)?
    private var isDraining = false
    private var isReported = false
    private let began = NIODeadline.now()

    init(
        registry: ConnectionRegistry,
        admission: ConnectionAdmission,
        timeout: TimeAmount,
        logger: Logger,
    ) {
        self.registry = registry
        self.admission = admission
        self.timeout = timeout
        self.logger = logger
    }

    /// Puts this handler on a new connection, with TLS before it.
    /// - Parameter tls: the context of the connection; nil for plain HTTP/2.
    func install(
        on channel: any Channel,
        _ choice: ServiceChoice<Service>,
        tls: (@Sendable () -> NIOSSLContext)?,
    ) throws {
        isSecured = tls != nil
        let pipeline = channel.pipeline.syncOperations
        switch choice {
        case .always(let service):
            self.service = service
            try pipeline.addHandler(self)
            if let tls { try addTLS(tls(), to: channel) }
        case .byServerName(let choose):
            let names = SNIHandler { [self] result in
                if case .hostname(let name) = result { service = choose(name) } else { service = choose(nil) }
                return channel.eventLoop.makeCompletedFuture {
                    if let tls { try self.addTLS(tls(), to: channel) }
                }
            }
            try pipeline.addHandlers(ByteToMessageHandler(names), self)
        }
    }

    /// Puts TLS before this handler, with the service's judgement of client certificates where it wants any.
    private func addTLS(_ context: NIOSSLContext, to channel: any Channel) throws {
        let handler =
            if Service.Peer.self == Never.self {
                NIOSSLServerHandler(context: context)
            } else {
                NIOSSLServerHandler(
                    context: context,
                    customVerificationCallback: { [weak self] certificates, promise in
                        promise.succeed(self?.admit(certificates) ?? .failed)
                    },
                )
            }
        if Service.buffers.rest {
            buffers = try TLSBuffers.add(handler, to: channel, position: .before(self))
        } else {
            try channel.pipeline.syncOperations.addHandler(handler, position: .before(self))
        }
    }

    private func admit(_ certificates: [NIOSSLCertificate]) -> NIOSSLVerificationResult {
        do {
            peer = try service?.admit(certificates.map { try $0.toDERBytes() })
            return peer == nil ? .failed : .certificateVerified
        } catch {
            report("A client certificate was refused", "\(error)")
            return .failed
        }
    }

    /// A resumed TLS session brings the certificate of the one before it, and no verification: it is judged again here,
    /// because it may have expired or been revoked since.
    private func admitResumed(_ context: ChannelHandlerContext) -> Bool {
        guard Service.Peer.self != Never.self, peer == nil, let service else { return true }
        do {
            guard let certificate = try context.pipeline.syncOperations.nioSSL_peerCertificate() else { return true }
            peer = try service.admit([certificate.toDERBytes()])
            return true
        } catch {
            report("A client certificate was refused", "\(error)")
            return false
        }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { begin(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        registry.add(self)
        if !isSecured { startSession(context) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let negotiated) = event as? TLSUserEvent {
            // A client that did not negotiate may still know beforehand (RFC 9113, 3.3): its preface tells.
            if negotiated == nil || negotiated == "h2" {
                guard admitResumed(context) else { return context.close(promise: nil) }
                startSession(context)
            } else {
                report("A client wants another protocol than HTTP/2", negotiated ?? "")
                context.close(promise: nil)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func startSession(_ context: ChannelHandlerContext) {
        guard session == nil, let service else { return }
        let connection = service.makeConnection(from: peer, on: context.channel)
        let session = HTTP2Session(
            role: .server, configuration: service.sessionConfiguration(for: peer), application: connection)
        session.buffers = buffers
        session.whenEnded = { [weak self] end in self?.ended(end) }
        self.connection = connection
        self.session = session
        do {
            // In front of this one, so that what is read and written does not pass here.
            try context.pipeline.syncOperations.addHandler(session, position: .before(self))
        } catch {
            context.close(promise: nil)
        }
        if isDraining { connection.drain() }
    }

    private func ended(_ end: SessionEnd) {
        if connection?.isSuspect == true { admission.suspect() }
        if case .flood = end {
            admission.suspect()
            admission.struck(.flood, peer: peerAddress)
        }
        connection = nil
        switch end {
        case .closed, .drained, .peerClosed: break
        // Widely used clients end TLS without saying so (RFC 8446, 6.1 asks for it); HTTP/2 frames tell what is whole.
        case .channelError(NIOSSLError.uncleanShutdown): break
        case .plainHTTP1, .badPreface, .protocolError, .flood, .peerDoesNotRead, .channelError:
            report("A connection ended before its time", "\(end)")
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        registry.remove(self)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Later ones are the session's, which stands in front.
        report("A TLS handshake failed", ConnectionFailure.cause(of: error))
        context.close(promise: nil)
    }

    func tick(now: NIODeadline) {
        guard let session else {
            guard began + timeout < now else { return }
            admission.struck(.handshakeTimeout, peer: peerAddress)
            report("A TLS handshake took too long", "\(timeout.nanoseconds / 1_000_000_000) s")
            return close()
        }
        guard session.hasReceivedPreface || began + timeout >= now else {
            admission.struck(.handshakeTimeout, peer: peerAddress)
            report("A client connected and said nothing", "\(timeout.nanoseconds / 1_000_000_000) s")
            return close()
        }
        connection?.tick(now: now)
        session.restIfSilent()
    }

    func drain() {
        isDraining = true
        if let connection { connection.drain() } else { close() }
    }

    func abandon() {
        guard let session else { return close() }
        connection?.abandon()
        session.close()
    }

    func close() {
        context?.close(promise: nil)
    }

    private var peerAddress: String { context?.remoteAddress?.ipAddress ?? "" }

    /// Says once for each connection what went wrong with it.
    private func report(_ message: Logger.Message, _ cause: String) {
        guard !isReported else { return }
        isReported = true
        let remote = context?.remoteAddress?.description ?? "unknown"
        logger.info(message, metadata: ["peer": .string(remote), "cause": .string(cause)])
    }
}

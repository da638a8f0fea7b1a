import NIOCore
import NIOSSL
import NIOTLS

/// The last handler of an accepted connection. It waits for the TLS handshake, lets the service check the client, and
/// then adds the handlers that answer the client in front of itself. It closes a client that takes too long. Confined
/// to the connection's event loop.
final class ConnectionHandler<Service: ConnectionService>: ChannelInboundHandler, RegisteredConnection {
    typealias InboundIn = ByteBuffer

    private let accepted: AcceptedConnection
    private let registry: ConnectionRegistry
    private let timeout: TimeAmount
    /// Known when the client has named a server.
    private var service: Service?
    private var isSecured = false
    /// Whether the protocols that the client offers are known.
    private var hasReadHello = false
    private var peer: Service.Peer?
    private var served: (any ServedConnection)?
    private var context: ChannelHandlerContext?
    private var isDraining = false
    /// Observes the handshake until it has ended.
    private var handshake: (any HandshakeObservation)?
    /// Reads an alert that the client does not encrypt, while somebody observes the handshake.
    private var alerts: AlertReader?
    /// Whether a rehearsal lets the client wait, so that the time limit does not apply.
    private var isSilent = false
    private let began = NIODeadline.now()

    /// - Parameter timeout: the time that the client may take until it begins to speak the protocol.
    init(_ accepted: AcceptedConnection, registry: ConnectionRegistry, timeout: TimeAmount) {
        self.accepted = accepted
        self.registry = registry
        self.timeout = timeout
    }

    /// Puts this handler on the new connection, with TLS before it.
    /// - Parameter tls: the context of the connection; nil for one without TLS.
    func addToPipeline(
        _ choice: ServiceChoice<Service>, tls: (@Sendable (ClientHello?, SocketAddress?) -> HandshakePlan)?
    ) throws {
        let pipeline = accepted.channel.pipeline.syncOperations
        let handler = NIOLoopBound(self, eventLoop: accepted.channel.eventLoop)
        try accepted.awaitTrust(Service.buffers) { handler.eventLoop.execute { handler.value.giveWay() } }
        guard let tls else {
            service = choice.service(for: nil)
            return try pipeline.addHandler(self)
        }
        isSecured = true
        let hello = ClientHelloHandler { [self] hello in
            hasReadHello = hello != nil
            if let hello, hello.offersOthers(than: Service.protocols) {
                accepted.report(Self.refused, Self.otherProtocols)
                tls(hello, accepted.remote).observation?.ended(HandshakeEnd(refusal: Self.otherProtocols, of: hello))
                return .refuse(.noApplicationProtocol)
            }
            service = choice.service(for: hello)
            return try begin(tls(hello, accepted.remote))
        }
        try pipeline.addHandlers(hello, self)
    }

    private static var refused: String { "A client was refused because of its protocols" }

    private static var otherProtocols: String {
        Service.protocols.isEmpty
            ? "It offers protocols (ALPN), and what is spoken here is none of them."
            : "It offers other protocols (ALPN) than \(Service.protocols.joined(separator: ", "))."
    }

    /// Begins the handshake in the way that the plan says.
    private func begin(_ plan: HandshakePlan) throws -> ClientHelloHandler.Decision {
        (handshake, accepted.handshake) = (plan.observation, plan.observation)
        let secure = { [self] in
            do {
                if plan.observation != nil {
                    let alerts = AlertReader()
                    self.alerts = alerts
                    try accepted.channel.pipeline.syncOperations.addHandler(alerts, position: .before(self))
                }
                try addTLS(plan.context)
            } catch {
                accepted.report(SetUpFailure.message, ConnectionFailure.cause(of: error))
                throw error
            }
        }
        switch plan.disturbance {
        case nil:
            try secure()
            return .secure
        case .delay(let time): return .later(time, secure: secure)
        case .reset:
            handshakeEnded(.serviceEnded)
            return .reset
        case .silence(let time):
            isSilent = true
            let handler = NIOLoopBound(self, eventLoop: accepted.channel.eventLoop)
            let timer = accepted.channel.eventLoop.scheduleTask(in: time) {
                handler.value.handshakeEnded(.serviceEnded)
                handler.value.close()
            }
            accepted.channel.closeFuture.whenComplete { _ in timer.cancel() }
            return .ignore
        }
    }

    private func handshakeEnded(_ end: @autoclosure () -> HandshakeEnd) {
        guard let observation = handshake else { return }
        handshake = nil
        let end = end()
        if let code = alerts?.code, end != .completed {
            observation.ended(HandshakeEnd(alert: code))
        } else {
            observation.ended(end)
        }
        if let alerts { accepted.channel.pipeline.syncOperations.removeHandler(alerts, promise: nil) }
        alerts = nil
    }

    /// Adds TLS before this handler, and the service's check of client certificates if it asks for any.
    private func addTLS(_ context: NIOSSLContext) throws {
        let handler =
            if Service.Peer.self == Never.self {
                NIOSSLServerHandler(context: context)
            } else {
                NIOSSLServerHandler(
                    context: context,
                    customVerificationCallback: { [weak self] certificates, promise in
                        let isAdmitted = self?.admit(certificates) { try $0.admit($1) }
                        promise.succeed(isAdmitted == true ? .certificateVerified : .failed)
                    },
                )
            }
        if Service.buffers.releaseWhenIdle {
            accepted.buffers = try TLSBuffers.add(handler, to: accepted.channel, position: .before(self))
        } else {
            try accepted.channel.pipeline.syncOperations.addHandler(handler, position: .before(self))
        }
    }

    private func admit(
        _ certificates: [NIOSSLCertificate],
        by check: (Service, [[UInt8]]) throws -> Service.Peer,
    ) -> Bool {
        do {
            peer = try service.map { try check($0, certificates.map { try $0.toDERBytes() }) }
            if peer != nil { accepted.showedTrust() }
            return peer != nil
        } catch {
            accepted.report("A client certificate was refused", "\(error)")
            // This fails only if there is no TLS handler, and then nobody waits for an alert.
            try? accepted.channel.pipeline.syncOperations.addHandler(
                CertificateAlertWriter(Service.alert(for: error).flatMap(TLSAlert.init) ?? .certificateUnknown),
                position: .before(accepted.channel.pipeline.syncOperations.handler(type: NIOSSLServerHandler.self)))
            return false
        }
    }

    /// A resumed TLS session has the certificate of the earlier one and no verification. It is checked again here,
    /// because it may have expired or been revoked since.
    private func admitResumed(_ context: ChannelHandlerContext) -> Bool {
        guard Service.Peer.self != Never.self, peer == nil,
            let certificate = try? context.pipeline.syncOperations.nioSSL_peerCertificate()
        else { return true }
        return admit([certificate]) { try $0.admitResumed($1) }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { begin(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        registry.add(self)
        if !isSecured { open(context) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let agreed) = event as? TLSUserEvent {
            handshakeEnded(.completed)
            // TLS accepts more forms of a ClientHello than this listener reads: it may be behind an alert that somebody in
            // between has put there. Then nobody knows which protocols the client offers.
            guard hasReadHello || agreed != nil else {
                accepted.report(Self.refused, "Its ClientHello cannot be read, and it has agreed on no protocol.")
                return context.close(promise: nil)
            }
            guard admitResumed(context) else { return context.close(promise: nil) }
            open(context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func open(_ context: ChannelHandlerContext) {
        guard !isDraining, let served = service?.open(accepted, from: peer) else { return context.close(promise: nil) }
        self.served = served
        do {
            try served.addHandlers(to: context.pipeline.syncOperations, before: self)
        } catch {
            accepted.report(SetUpFailure.message, ConnectionFailure.cause(of: error))
            context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // This handler gets only errors that happen before the service has added its handlers, because those catch
        // all later ones. A connection that is closed so early ends without close_notify. That is not worth a report.
        if case NIOSSLError.uncleanShutdown = error {
        } else {
            let cause = ConnectionFailure.cause(of: error)
            handshakeEnded(HandshakeEnd(cause: cause))
            accepted.report(
                isSecured ? "A TLS handshake failed" : "A connection failed", ConnectionFailure.serverCause(cause))
        }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        handshakeEnded(.clientEnded)
        if let rest = served?.ended() {
            // The connection counts as open until its remaining work is done.
            rest.assumeIsolated().whenComplete { _ in self.registry.remove(self) }
        } else {
            registry.remove(self)
        }
        context.fireChannelInactive()
    }

    func tick(now: NIODeadline) {
        guard served?.hasBegun == true || began + timeout >= now || isSilent else {
            handshakeEnded(.serviceEnded)
            accepted.limitExceeded(.handshakeTimeout)
            accepted.report(
                served == nil ? "A TLS handshake took too long" : "A client connected and sent nothing",
                "\(timeout.nanoseconds / 1_000_000_000) s")
            return close()
        }
        if served?.hasShownTrust == true { accepted.showedTrust() }
        served?.tick(now: now)
    }

    /// Another connection needs this one's place among those whose clients have not authenticated. The client may have
    /// authenticated since the last tick.
    private func giveWay() {
        guard served?.hasShownTrust != true else { return accepted.showedTrust() }
        handshakeEnded(.serviceEnded)
        accepted.limitExceeded(.untrustedConnections)
        accepted.channel.close(promise: nil)
    }

    func drain() {
        isDraining = true
        if let served { served.drain() } else { close() }
    }

    func abandon() {
        if let served { served.abandon() } else { close() }
    }

    func close() {
        if let served { served.close() } else { context?.close(promise: nil) }
    }
}

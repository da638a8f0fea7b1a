import Connections
import Logging
import NIOCore
import NIOSSL
import NIOTLS

/// Puts TLS before the HTTP handlers of a connection, and says who the client is by its certificate. Confined to the
/// connection's event loop.
final class ManagementTLS: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let verifier: AdministratorVerifier
    private let table: ConnectionTable
    private let logger: Logger

    init(_ verifier: AdministratorVerifier, table: ConnectionTable, logger: Logger) {
        self.verifier = verifier
        self.table = table
        self.logger = logger
    }

    func install(on channel: any Channel, _ context: NIOSSLContext) throws {
        let tls = NIOSSLServerHandler(
            context: context,
            customVerificationCallback: { [self] certificates, promise in
                promise.succeed(admit(certificates, channel) ? .certificateVerified : .failed)
            },
        )
        try channel.pipeline.syncOperations.addHandlers(tls, self)
    }

    private func admit(_ certificates: [NIOSSLCertificate], _ channel: any Channel) -> Bool {
        do {
            let identity = try verifier.admit(certificates.map { try $0.toDERBytes() })
            table.identify(channel, as: .certificate(identity))
            return true
        } catch {
            report("A client certificate was refused", "\(error)", channel)
            return false
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted = event as? TLSUserEvent, table.caller(on: context.channel) == .certificate(nil) {
            // A resumed TLS session brings the certificate of the one before it, without verification: it is judged
            // again, because it may have expired since.
            do {
                if let certificate = try context.pipeline.syncOperations.nioSSL_peerCertificate(),
                    !admit([certificate], context.channel)
                {
                    return context.close(promise: nil)
                }
            } catch {
                return context.close(promise: nil)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case NIOSSLError.uncleanShutdown = error { return }
        report("A TLS handshake failed", ConnectionFailure.cause(of: error), context.channel)
        context.close(promise: nil)
    }

    private func report(_ message: Logger.Message, _ cause: String, _ channel: any Channel) {
        let peer = channel.remoteAddress?.ipAddress ?? "unknown"
        logger.info(message, metadata: ["peer": .string(peer), "cause": .string(cause)])
    }
}

import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// Says whose connection it is when TLS asks for a certificate.
///
/// NIOSSL's callback for that does not tell which connection it is called for. It is called while the courier's flight
/// is read, on the event loop's thread, so this handler stands before TLS and has its credentials lie ready meanwhile.
/// Once they were taken it has done its work, and leaves the pipeline.
final class CredentialsHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private static let current = ThreadSpecificVariable<Offer>()

    /// Credentials that lie ready for one read.
    private final class Offer: Sendable {
        let credentials: DeviceCredentials
        let isTaken = Atomic(false)

        init(_ credentials: DeviceCredentials) { self.credentials = credentials }
    }

    private let offer: Offer

    init(_ credentials: DeviceCredentials) { offer = Offer(credentials) }

    /// The credentials of the connection that is being read on this thread.
    static func takeCurrent() -> DeviceCredentials? {
        guard let offer = current.currentValue else { return nil }
        offer.isTaken.store(true, ordering: .relaxed)
        return offer.credentials
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        Self.current.currentValue = offer
        context.fireChannelRead(data)
        Self.current.currentValue = nil
        guard offer.isTaken.load(ordering: .relaxed) else { return }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }
}

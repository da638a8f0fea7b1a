import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// Provides a connection's credentials when TLS asks for a certificate.
///
/// NIOSSL's callback does not say which connection it is called for. It is called on the event loop's thread while
/// the courier's flight is read. So this handler is in the pipeline before TLS, and holds its credentials ready in a
/// thread-local variable during each read. When they were taken, it removes itself from the pipeline.
final class CredentialsHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private static let current = ThreadSpecificVariable<Offer>()

    /// The credentials that are ready during one read.
    private final class Offer: Sendable {
        let credentials: DeviceCredentials
        let isTaken = Atomic(false)

        init(_ credentials: DeviceCredentials) { self.credentials = credentials }
    }

    private let offer: Offer

    init(_ credentials: DeviceCredentials) { offer = Offer(credentials) }

    /// Returns the credentials of the connection that is being read on this thread.
    static func useCurrent() -> DeviceCredentials? {
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

import NIOCore
import NIOTLS

/// Ends a connection to a server that has not chosen HTTP/2 in the TLS handshake (RFC 9113, 3.2). It may be any other kind of
/// server, so it gets no request. Confined to its event loop.
final class ProtocolCheck: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    /// Called with the reason before the channel is closed.
    private let failed: (String) -> Void

    static let cause = "the server does not speak HTTP/2: it has not chosen h2 in the TLS handshake"

    /// Whether a cause of a failed handshake is the alert of a server that speaks other protocols (RFC 7301, 3.2).
    static func isOtherProtocol(_ cause: String) -> Bool { cause.contains("NO_APPLICATION_PROTOCOL") }

    init(failed: @escaping (String) -> Void) { self.failed = failed }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted(let agreed) = event as? TLSUserEvent, agreed != "h2" else {
            return context.fireUserInboundEventTriggered(event)
        }
        failed(Self.cause)
        context.close(promise: nil)
    }
}

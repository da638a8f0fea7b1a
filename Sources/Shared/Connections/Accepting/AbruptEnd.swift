package import NIOCore
import NIOSSL

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Ends a connection as if the peer's machine had failed, for rehearsals.
package enum AbruptEnd {
    /// Closes a connection with RST, without its unsent bytes and without close_notify. On the connection's event loop.
    package static func close(_ channel: any Channel) {
        // With a linger time of 0 the system sends RST instead of FIN. A channel without a socket has no such option.
        _ = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        do {
            // Starts at the TLS handler's place in the pipeline, so that TLS does not send close_notify.
            try channel.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self).close(promise: nil)
        } catch {
            channel.close(promise: nil)
        }
    }
}

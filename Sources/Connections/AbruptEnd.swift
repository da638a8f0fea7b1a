package import NIOCore
import NIOSSL

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The end of a connection whose machine is gone, for rehearsals.
package enum AbruptEnd {
    /// Closes a connection with RST, without what is still to be written and without TLS's close_notify. On the
    /// connection's event loop.
    package static func close(_ channel: any Channel) {
        // With a linger time of 0 the system sends RST in the place of FIN. A channel without a socket has none.
        _ = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        do {
            // From TLS's place in the pipeline on, so that TLS does not say goodbye.
            try channel.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self).close(promise: nil)
        } catch {
            channel.close(promise: nil)
        }
    }
}

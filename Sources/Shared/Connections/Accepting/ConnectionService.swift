package import NIOCore

/// The service to which a listener gives its connections. It checks clients, and makes the handlers that answer them.
package protocol ConnectionService: AnyObject, Sendable {
    /// The identity in a client certificate; `Never` if the service asks for none.
    associatedtype Peer: Sendable

    /// The memory that each connection keeps for reading and writing.
    static var buffers: ConnectionBuffers { get }

    /// The names in ALPN of what is spoken here; empty if it has none. A client that offers only others is refused (RFC
    /// 7301, 3.2), and one that offers none is not.
    static var protocols: [String] { get }

    /// Checks the certificates of a client during its TLS handshake. If it throws, they are refused.
    /// - Parameter chain: DER, the client's own certificate first, none of it verified.
    func admit(_ chain: [[UInt8]]) throws -> Peer

    /// Checks the certificate of a resumed TLS session. An earlier handshake has verified it already. By default,
    /// this makes the same check. A service may admit a certificate that was revoked meanwhile. It then has to refuse
    /// the client's requests, because the handshake is over and cannot give the client a reason.
    /// - Parameter chain: only the client's own certificate, in DER.
    func admitResumed(_ chain: [[UInt8]]) throws -> Peer

    /// The number of the alert (RFC 8446, 6.2) for a client whose certificates ``admit(_:)`` has refused with this error;
    /// nil for the usual one.
    static func alert(for error: any Error) -> UInt8?

    /// Makes the handlers for a connection after its handshake.
    /// - Parameter peer: nil if the client presented no certificate.
    /// - Returns: nil to close the connection.
    func open(_ accepted: AcceptedConnection, from peer: Peer?) -> (any ServedConnection)?
}

extension ConnectionService {
    package static var buffers: ConnectionBuffers { .busy }
    package static func alert(for error: any Error) -> UInt8? { nil }
    package func admitResumed(_ chain: [[UInt8]]) throws -> Peer { try admit(chain) }
}

extension ConnectionService where Peer == Never {
    package func admit(_ chain: [[UInt8]]) throws -> Never { throw NoCertificateExpected() }
}

/// A client presented a certificate to a service that asks for none.
package struct NoCertificateExpected: Error {}

/// A connection as its registry sees it. Called on the connection's event loop.
package protocol RegisteredConnection: AnyObject {
    /// Called about once a second.
    func tick(now: NIODeadline)
    /// Called when the listener shuts down. The connection completes what is open, and accepts nothing new.
    func drain()
    /// The time for finishing is over. The connection sends its last bytes and closes.
    func abandon()
    /// Closes at once.
    func close()
}

/// The handlers that answer a connection after its handshake, as the listener's own handler sees them.
package protocol ServedConnection: RegisteredConnection {
    /// Adds the handlers that read and write.
    /// - Parameter last: the listener's own handler. The handlers before it pass nothing on to it.
    func addHandlers(to pipeline: ChannelPipeline.SynchronousOperations, before last: any ChannelHandler) throws

    /// Whether the client has begun to speak the protocol. Until then the time limit of the handshake applies.
    var hasBegun: Bool { get }

    /// Whether the client has authenticated in another way than by a certificate.
    var hasShownTrust: Bool { get }

    /// Called when the channel is closed.
    /// - Returns: a future that completes when all remaining work is done; nil if there is none. A listener that shuts
    ///   down waits for it.
    func ended() -> EventLoopFuture<Void>?
}

extension ServedConnection {
    package var hasBegun: Bool { true }
    /// True for services that require certificates, or that limit unauthenticated clients themselves.
    package var hasShownTrust: Bool { true }
    package func ended() -> EventLoopFuture<Void>? { nil }
}

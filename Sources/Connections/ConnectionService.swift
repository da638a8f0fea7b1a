package import NIOCore

/// What a listener hands its connections to: it judges who connects, and makes what answers them.
package protocol ConnectionService: AnyObject, Sendable {
    /// What a client certificate says of its holder; `Never` if the service asks for none.
    associatedtype Peer: Sendable

    /// What each connection keeps for what it reads and writes.
    static var buffers: ConnectionBuffers { get }

    /// Why a client is refused by what it says before its handshake, for the log; nil to go on.
    static func refusal(of hello: ClientHello) -> String?

    /// Judges the certificates of a client that presented some, in its TLS handshake; what it throws refuses them.
    /// - Parameter chain: DER, the client's own certificate first, nothing of it verified.
    func admit(_ chain: [[UInt8]]) throws -> Peer

    /// Makes what answers a connection whose handshake is done.
    /// - Parameter peer: nil if the client presented no certificate.
    /// - Returns: nil to close the connection.
    func open(_ accepted: AcceptedConnection, from peer: Peer?) -> (any ServedConnection)?
}

extension ConnectionService {
    package static var buffers: ConnectionBuffers { .busy }
    package static func refusal(of hello: ClientHello) -> String? { nil }
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
    /// The listener goes down: what is open is finished, nothing new is taken.
    func drain()
    /// The time for finishing is over: says what there is left to say, and closes.
    func abandon()
    /// Closes at once.
    func close()
}

/// What answers a connection after its handshake, as the listener's own handler sees it.
package protocol ServedConnection: RegisteredConnection {
    /// Adds the handlers that read and write.
    /// - Parameter last: the listener's own handler. What stands before it passes nothing there.
    func addHandlers(to pipeline: ChannelPipeline.SynchronousOperations, before last: any ChannelHandler) throws

    /// Whether the client has begun to speak the protocol: until then the handshake's time limit counts.
    var hasBegun: Bool { get }

    /// Whether the client has shown who it is, other than by a certificate.
    var hasShownTrust: Bool { get }

    /// The channel is closed.
    /// - Returns: when nothing is left to do, which a listener that goes down waits for; nil for now.
    func ended() -> EventLoopFuture<Void>?
}

extension ServedConnection {
    package var hasBegun: Bool { true }
    /// Services that ask for certificates alone, or bound what they let in by themselves.
    package var hasShownTrust: Bool { true }
    package func ended() -> EventLoopFuture<Void>? { nil }
}

package import Connections
package import NIOCore

/// What stands behind a listener: it judges who connects, and makes what answers them.
package protocol HTTP2Service: AnyObject, Sendable {
    /// What a client certificate says of its holder; `Never` where none is asked for.
    associatedtype Peer: Sendable = Never

    /// What each connection keeps for what it reads and writes.
    static var buffers: ConnectionBuffers { get }

    /// The limits of a new connection's session; nil in the place of the peer where it presented no certificate.
    func sessionConfiguration(for peer: Peer?) -> HTTP2Configuration

    /// Judges the certificates of a client that presented some, in its TLS handshake; what it throws refuses them.
    /// - Parameter chain: DER, the client's own certificate first, nothing of it verified.
    func admit(_ chain: [[UInt8]]) throws -> Peer

    /// Makes what answers a new connection; nil in the place of the peer where it presented no certificate.
    func makeConnection(from peer: Peer?, on channel: any Channel) -> any HTTP2Connection
}

extension HTTP2Service {
    package static var buffers: ConnectionBuffers { .busy }
}

extension HTTP2Service where Peer == Never {
    package func admit(_ chain: [[UInt8]]) throws -> Never { throw NoCertificateExpected() }
}

extension HTTP2Connection {
    package var isSuspect: Bool { false }
    package func abandon() {}
}

/// A client presented a certificate where none was asked for.
package struct NoCertificateExpected: Error {}

/// One connection's side of a service: an application of its session that time passes for.
package protocol HTTP2Connection: HTTP2Application {
    /// Called about once a second, for what must not take too long. On the connection's event loop.
    func tick(now: NIODeadline)

    /// The peer did what no honest one does: its further connects count double for a while.
    var isSuspect: Bool { get }

    /// The service goes down: what is open is finished, nothing new is taken. On the connection's event loop.
    func drain()

    /// The time for finishing is over, and the connection is closed once what this writes has gone out. On the
    /// connection's event loop.
    func abandon()
}

package import Connections
package import NIOCore
import NIOSSL
import Rates

/// A service that speaks HTTP/2.
package protocol HTTP2Service: ConnectionService {
    /// The limits of a new connection's session.
    /// - Parameter peer: nil if the client presented no certificate.
    func sessionConfiguration(for peer: Peer?) -> HTTP2Configuration

    /// Whether a new connection is closed at once.
    var refusesConnection: Bool { get }

    /// Makes the connection that answers a new client.
    /// - Parameter peer: nil if the client presented no certificate.
    func makeConnection(from peer: Peer?, on accepted: AcceptedConnection) -> any HTTP2Connection
}

extension HTTP2Service {
    package var refusesConnection: Bool { false }

    package static var protocols: [String] { ["h2"] }

    package func open(_ accepted: AcceptedConnection, from peer: Peer?) -> (any ServedConnection)? {
        guard !refusesConnection else { return nil }
        return ServedSession(
            accepted, configuration: sessionConfiguration(for: peer),
            connection: makeConnection(from: peer, on: accepted))
    }
}

/// One connection of a service: an application of its session that is called once a second.
package protocol HTTP2Connection: HTTP2Application {
    /// Called about once a second, to check time limits. On the connection's event loop.
    func tick(now: NIODeadline)

    /// Whether the peer behaved as no honest peer does. Its further connects then count double for a while.
    var isSuspect: Bool { get }

    /// Whether the client has authenticated in another way than by a certificate.
    var hasShownTrust: Bool { get }

    /// Called on the connection's event loop when the service shuts down. The connection completes what is open, and
    /// accepts nothing new.
    func drain()

    /// The time for finishing is over. The connection is closed after the bytes that this method writes have been sent.
    /// On the connection's event loop.
    func abandon()

    /// What is still at work for requests when the session has closed; nil if nothing is. The listener waits for it.
    var remainingWork: EventLoopFuture<Void>? { get }
}

extension HTTP2Connection {
    package var isSuspect: Bool { false }
    package var hasShownTrust: Bool { false }
    package func abandon() {}
    package var remainingWork: EventLoopFuture<Void>? { nil }
}

/// A session and its application, as the listener's handler sees them.
package final class ServedSession: ServedConnection {
    private let accepted: AcceptedConnection
    private let session: HTTP2Session
    private var connection: (any HTTP2Connection)?
    private var remainingWork: EventLoopFuture<Void>?

    package init(_ accepted: AcceptedConnection, configuration: HTTP2Configuration, connection: any HTTP2Connection) {
        self.accepted = accepted
        self.connection = connection
        session = HTTP2Session(role: .server, configuration: configuration, application: connection)
        session.buffers = accepted.buffers
        session.whenEnded = { [weak self] end in self?.ended(end) }
        session.whenFaulty = { [accepted] fault in
            if fault.code == .refusedStream {
                accepted.limitExceeded(.concurrentStreams)
            } else {
                accepted.malformedRequest(fault.description)
            }
        }
    }

    package func addHandlers(
        to pipeline: ChannelPipeline.SynchronousOperations,
        before last: any ChannelHandler,
    ) throws {
        try pipeline.addHandler(session, position: .before(last))
    }

    package var hasBegun: Bool { session.hasReceivedPreface }
    package var hasShownTrust: Bool { connection?.hasShownTrust ?? false }

    package func tick(now: NIODeadline) {
        connection?.tick(now: now)
        session.releaseMemoryIfIdle()
    }

    package func drain() {
        if let connection { connection.drain() } else { close() }
    }

    package func abandon() {
        connection?.abandon()
        session.close()
    }

    package func ended() -> EventLoopFuture<Void>? { remainingWork }

    package func close() { accepted.channel.close(promise: nil) }

    private func ended(_ end: SessionEnd) {
        if connection?.isSuspect == true { accepted.suspect() }
        if case .flood = end {
            accepted.suspect()
            accepted.limitExceeded(.flood)
        }
        remainingWork = connection?.remainingWork
        connection = nil
        observe(end)
        switch end {
        case .closed, .drained, .peerClosed: break
        // Widely used clients close without close_notify, although RFC 8446, 6.1, requires it. HTTP/2 frames show
        // whether the data is complete.
        case .channelError(NIOSSLError.uncleanShutdown): break
        case .plainHTTP1, .badPreface, .protocolError, .flood, .peerDoesNotRead, .channelError:
            accepted.report("A connection ended unexpectedly", "\(end)")
        }
    }

    /// Tells what observed the handshake if the client never spoke HTTP/2.
    private func observe(_ end: SessionEnd) {
        guard let handshake = accepted.handshake, !session.hasReceivedPreface else { return }
        switch end {
        case .plainHTTP1: handshake.ended(.withoutHTTP2(offered: []))
        case .peerClosed, .channelError: handshake.ended(.leftUnused)
        case .closed, .drained, .badPreface, .protocolError, .flood, .peerDoesNotRead: break
        }
    }
}

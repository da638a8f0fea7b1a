package import Connections
package import NIOCore
package import Trust

/// A service of the binary API, for providers with a certificate only.
package protocol CertifiedService: ConnectionService where Peer == ProviderIdentity {
    /// Judges the certificate.
    var certificates: ProviderCertificates { get }

    var limits: BinaryLimits { get }

    /// Whether a new connection is closed at once.
    var refusesConnection: Bool { get }

    /// Makes the connection that answers a new client.
    func makeConnection(from identity: ProviderIdentity, on channel: CertifiedChannel) -> any CertifiedConnection
}

extension CertifiedService {
    package var refusesConnection: Bool { false }

    package static func refusal(of hello: ClientHello) -> String? {
        hello.offersHTTP2 ? "It offers HTTP/2 on a port of the binary API." : nil
    }

    package func admit(_ chain: [[UInt8]]) throws -> ProviderIdentity { try certificates.admit(chain) }

    package func open(_ accepted: AcceptedConnection, from peer: ProviderIdentity?) -> (any ServedConnection)? {
        guard let peer, !refusesConnection else { return nil }
        // If the channel refuses this, it is already closed.
        return try? CertifiedChannel(accepted, lingerTimeout: limits.lingerTimeout) {
            makeConnection(from: peer, on: $0)
        }
    }
}

/// One connection's side of a service. Called on the connection's event loop.
package protocol CertifiedConnection: AnyObject {
    /// The handshake is done.
    func began()
    func received(_ bytes: ByteBuffer)
    /// There is no more to read for now.
    func readCompleted()
    /// Whether reading is paused.
    var isPaused: Bool { get }
    /// Called about once a second.
    func tick(now: NIODeadline)
    /// The service shuts down. The connection finishes what is open and accepts nothing new.
    func drain()
    /// The time for finishing is over. The connection sends its last bytes and ends.
    func abandon()
    /// The client's system has acknowledged everything that was written, though the client has not closed the connection.
    /// Only if it is watched.
    func acknowledged()
    /// The connection is gone.
    /// - Parameter well: whether it was watched, and the client had read everything when it closed.
    /// - Returns: when nothing is left to do; nil for now.
    func ended(well: Bool) -> EventLoopFuture<Void>?
}

extension CertifiedConnection {
    package func began() {}
    package func readCompleted() {}
    package func acknowledged() {}
    package var isPaused: Bool { false }
}

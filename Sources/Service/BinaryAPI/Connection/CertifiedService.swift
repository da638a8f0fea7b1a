package import Connections
import Credentials
package import NIOCore
package import Trust

/// A service of the binary API, for providers with a certificate only.
package protocol CertifiedService: ConnectionService where Peer == ProviderIdentity {
    /// Decides which certificates are accepted.
    var certificates: ProviderCertificates { get }

    var limits: BinaryLimits { get }

    /// Whether new connections are closed at once.
    var refusesConnection: Bool { get }

    /// Makes the object that answers a new client.
    func makeConnection(from identity: ProviderIdentity, on channel: CertifiedChannel) -> any CertifiedConnection
}

extension CertifiedService {
    package var refusesConnection: Bool { false }

    package static var protocols: [String] { [] }

    package static func alert(for error: any Error) -> UInt8? { (error as? TrustError)?.tlsAlert }

    package func admit(_ chain: [[UInt8]]) throws -> ProviderIdentity { try certificates.admit(chain) }

    package func open(_ accepted: AcceptedConnection, from peer: ProviderIdentity?) -> (any ServedConnection)? {
        guard let peer, !refusesConnection, certificates.mayOpen(accepted, peer) else { return nil }
        // Adding a handler fails only if the channel is closed already.
        return try? CertifiedChannel(accepted, lingerTimeout: limits.lingerTimeout) {
            makeConnection(from: peer, on: $0)
        }
    }
}

/// A service's object for one connection. Its methods are called on the connection's event loop.
package protocol CertifiedConnection: AnyObject {
    /// Called when the handshake is finished.
    func began()
    func received(_ bytes: ByteBuffer)
    /// Called when all bytes that have arrived were passed to ``received(_:)``.
    func readCompleted()
    /// Whether reading is paused.
    var isPaused: Bool { get }
    /// Called about once a second.
    func tick(now: NIODeadline)
    /// Called when the service shuts down. The connection completes what is open, and accepts nothing new.
    func drain()
    /// Called when the time for that is over. The connection sends its last bytes and ends.
    func abandon()
    /// Called on a watched connection, when the client's system has acknowledged everything that was written,
    /// although the client has not closed the connection.
    func acknowledged()
    /// Called when the connection has ended.
    /// - Parameter well: whether the connection was watched, and the client had read everything when it closed.
    /// - Returns: a future for the end of the work that remains; nil if none does.
    func ended(well: Bool) -> EventLoopFuture<Void>?
}

extension CertifiedConnection {
    package func began() {}
    package func readCompleted() {}
    package func acknowledged() {}
    package var isPaused: Bool { false }
}

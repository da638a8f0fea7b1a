package import Connections
package import NIOCore
package import Trust

/// A service for providers with a certificate alone, on a port of the binary API.
package protocol CertifiedService: ConnectionService where Peer == ProviderIdentity {
    /// Judges the certificate.
    var certificates: ProviderCertificates { get }

    var limits: BinaryLimits { get }

    /// Whether a new connection is closed at once.
    var refusesConnection: Bool { get }

    /// Makes what answers a new connection.
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
        // A channel that does not take this is gone.
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
    /// For now there is no more to read.
    func readCompleted()
    /// Whether nothing is to be read for now.
    var isPaused: Bool { get }
    /// Called about once a second.
    func tick(now: NIODeadline)
    /// The service goes down: what is open is finished, nothing new is taken.
    func drain()
    /// The time for finishing is over: says what there is left to say, and ends.
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

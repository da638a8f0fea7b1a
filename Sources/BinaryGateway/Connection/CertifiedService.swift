package import NIOCore
package import Trust

/// What stands behind a listener that takes providers with a certificate alone.
package protocol CertifiedService: AnyObject, Sendable {
    /// Judges the certificate.
    var certificates: ProviderCertificates { get }

    var limits: BinaryLimits { get }

    /// Makes what answers a new connection.
    func makeConnection(from identity: ProviderIdentity, on channel: CertifiedChannel) -> any CertifiedConnection
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
    /// The connection is gone.
    /// - Parameter well: whether it was watched, and the client had read everything when it closed.
    /// - Returns: when nothing is left to do; nil for now.
    func ended(well: Bool) -> EventLoopFuture<Void>?
}

extension CertifiedConnection {
    package func began() {}
    package func readCompleted() {}
    package var isPaused: Bool { false }
}

import Foundation
import NIOSSL
import Notifications
import Synchronization
import Trust

/// The certificate of the service's listeners: made at the start, and again before it expires; connections that are
/// open keep theirs.
final class ServerCertificate: Sendable {
    /// How long before its end a certificate is replaced.
    static let renewBefore = Duration.seconds(30 * 24 * 60 * 60)
    /// How often its end is looked at.
    static let checkEvery = Duration.seconds(60 * 60)

    private let authority: CertificateAuthority
    private let hostnames: [String]
    private let state: Mutex<State>

    private struct State {
        var context: NIOSSLContext
        var validUntil: Timestamp
    }

    init(
        authority: CertificateAuthority,
        hostnames: [String],
        now: Timestamp,
    ) throws(ServiceError) {
        self.authority = authority
        self.hostnames = hostnames
        state = Mutex(try Self.make(authority, hostnames, now))
    }

    /// What new connections get.
    var context: NIOSSLContext { state.withLock { $0.context } }

    /// Replaces the certificate when its end is near.
    func renew(now: Timestamp) throws(ServiceError) {
        guard state.withLock({ $0.validUntil }) < now.advanced(by: Self.renewBefore) else { return }
        let fresh = try Self.make(authority, hostnames, now)
        state.withLock { $0 = fresh }
    }

    private static func make(
        _ authority: CertificateAuthority,
        _ hostnames: [String],
        _ now: Timestamp,
    ) throws(ServiceError) -> State {
        var random = SystemRandomNumberGenerator()
        do {
            let seconds = Double(now.milliseconds) / 1000
            let issued = try authority.issueServerCertificate(names: hostnames, now: seconds, using: &random)
            guard let keyPEM = issued.keyPEM else { throw ServiceError(.trust, "The server's key is missing.") }
            let chain = try NIOSSLCertificate.fromPEMBytes(Array(issued.chainPEM.utf8))
            let key = try NIOSSLPrivateKey(bytes: Array(keyPEM.utf8), format: .pem)
            var tls = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
            // The guide asks for TLS 1.2 or higher (2.3.3).
            tls.minimumTLSVersion = .tlsv12
            tls.applicationProtocols = ["h2"]
            // Clients are asked for a certificate, and may do without: providers have tokens, and a device that is
            // not activated yet has nothing.
            tls.certificateVerification = .optionalVerification
            return State(
                context: try NIOSSLContext(configuration: tls),
                validUntil: Timestamp(milliseconds: UInt64(issued.validUntil * 1000)),
            )
        } catch {
            throw error as? ServiceError ?? ServiceError(.trust, "The server's certificate cannot be made: \(error)")
        }
    }
}

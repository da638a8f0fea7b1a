import Connections
import Foundation
import NIOCore
import NIOSSL
import Notifications
import Synchronization
import Trust

/// The certificate of the service's listeners. The service makes it at the start and renews it before it expires, or it
/// reads it from files and again when they change. Open connections keep their certificate.
final class ServerCertificate: Sendable {
    /// How long before its expiry a certificate of our authority is renewed. If the authority itself ends soon, its
    /// certificates are shorter than three times this, and are renewed in the last third of their life.
    static let renewBefore = Duration.seconds(30 * 24 * 60 * 60)
    /// How often the certificate's expiry and files are checked.
    static let checkEvery = Duration.seconds(60)

    /// Where the certificate comes from.
    enum Source: Sendable {
        case authority(CertificateAuthority, names: [String])
        case files(ServerCertificateFiles)
    }

    private let source: Source
    private let state: Mutex<State>

    private struct State {
        var contexts: Contexts
        /// When to renew the certificate.
        var made: Made
    }

    /// The same certificate for HTTP/2, for the binary API and for the management API.
    private struct Contexts {
        var http2: NIOSSLContext
        var binary: NIOSSLContext
        var management: NIOSSLContext
    }

    private enum Made: Equatable {
        /// Renew it from this time on.
        case until(Timestamp)
        case from(ServerCertificateFiles.Contents)
    }

    init(_ source: Source, now: Timestamp) throws(ServiceError) {
        self.source = source
        state = Mutex(try Self.make(source, now))
    }

    /// For new connections with HTTP/2.
    var context: NIOSSLContext { state.withLock { $0.contexts.http2 } }

    /// For new connections to the binary API and the feedback service.
    var binaryContext: NIOSSLContext { state.withLock { $0.contexts.binary } }

    /// For new connections to the management API.
    var managementContext: NIOSSLContext { state.withLock { $0.contexts.management } }

    /// Renews the certificate if it expires soon or if its files have changed.
    func renew(now: Timestamp) throws(ServiceError) {
        switch (source, state.withLock({ $0.made })) {
        case (.files(let files), let made):
            guard try .from(files.read()) != made else { return }
        case (.authority, .until(let moment)):
            guard now >= moment else { return }
        case (.authority, .from):
            return
        }
        let fresh = try Self.make(source, now)
        state.withLock { $0 = fresh }
    }

    private static func make(_ source: Source, _ now: Timestamp) throws(ServiceError) -> State {
        switch source {
        case .files(let files):
            let contents = try files.read()
            do {
                let contexts = try contexts(chainPEM: contents.certificate, keyPEM: contents.key)
                return State(contexts: contexts, made: .from(contents))
            } catch {
                throw ServiceError(
                    .trust,
                    "\(files.certificate) and \(files.key) are not a certificate chain and its key in PEM: "
                        + "\(ConnectionFailure.cause(of: error)).")
            }
        case .authority(let authority, let names):
            var random = SystemRandomNumberGenerator()
            do {
                let issued = try authority.issueServerCertificate(
                    names: names, now: Double(now.milliseconds) / 1000, using: &random)
                return State(
                    contexts: try contexts(
                        chainPEM: Array(issued.chainPEM.utf8), keyPEM: Array((issued.keyPEM ?? "").utf8)),
                    made: .until(Self.renewal(now: now, validUntil: issued.validUntil)),
                )
            } catch {
                throw ServiceError(
                    .trust, "The server's certificate cannot be made: \(ConnectionFailure.cause(of: error)).")
            }
        }
    }

    /// - Parameter validUntil: seconds since 1970.
    private static func renewal(now: Timestamp, validUntil: Double) -> Timestamp {
        let life = max(0, validUntil - Double(now.milliseconds) / 1000)
        let early = min(Double(renewBefore.components.seconds), life / 3)
        return now.advanced(by: .seconds(Int64(life - early)))
    }

    private static func contexts(chainPEM: [UInt8], keyPEM: [UInt8]) throws -> Contexts {
        let chain = try NIOSSLCertificate.fromPEMBytes(chainPEM)
        let key = try NIOSSLPrivateKey(bytes: keyPEM, format: .pem)
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        // `CertificateAuthority` supplies the roots for checking client certificates. Without this line the system's
        // roots are read, which a slim container does not have.
        tls.trustRoots = .certificates([])
        // The Guide requires TLS 1.2 or higher (2.3.3).
        tls.minimumTLSVersion = .tlsv12
        // For TLS 1.2, HTTP/2 requires ephemeral keys and authenticated encryption (RFC 9113, 9.2.2). All cipher suites
        // of TLS 1.3 have both.
        tls.cipherSuiteValues = [
            .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        ]
        tls.applicationProtocols = ["h2"]
        // Wait only a second for close_notify. TLS's default of five seconds is long if a peer keeps sending after
        // GOAWAY.
        tls.shutdownTimeout = .seconds(1)
        // Client certificates are optional: providers may use tokens, and a device that is not activated has no
        // certificate yet.
        tls.certificateVerification = .optionalVerification
        var binary = tls
        // Clients of the binary API may be old, so they get more cipher suites.
        binary.cipherSuites = defaultCipherSuites
        binary.applicationProtocols = []
        // A client certificate is required: nothing else names the sender (Guide, 3.1.1).
        binary.certificateVerification = .noHostnameVerification
        var management = tls
        management.applicationProtocols = ["http/1.1"]
        return Contexts(
            http2: try NIOSSLContext(configuration: tls),
            binary: try NIOSSLContext(configuration: binary),
            management: try NIOSSLContext(configuration: management))
    }
}

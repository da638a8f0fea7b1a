import Connections
import Foundation
import NIOCore
import NIOSSL
import Notifications
import Synchronization
import Trust

/// The certificate of the service's listeners: made at the start, and again before it expires, or read from files and
/// again when they change. Connections that are open keep theirs.
final class ServerCertificate: Sendable {
    /// How long before its end a certificate of our authority is replaced; one that an authority near its own end made
    /// for less than three times that, in the last third of its life.
    static let renewBefore = Duration.seconds(30 * 24 * 60 * 60)
    /// How often its end, or its files, are looked at.
    static let checkEvery = Duration.seconds(60)

    /// Where it comes from.
    enum Source: Sendable {
        case authority(CertificateAuthority, names: [String])
        case files(ServerCertificateFiles)
    }

    private let source: Source
    private let state: Mutex<State>

    private struct State {
        var contexts: Contexts
        /// What has to be looked at to see whether it is time for another.
        var made: Made
    }

    /// The same certificate, as the ports of HTTP/2, of the binary API and of the management API present it.
    private struct Contexts {
        var http2: NIOSSLContext
        var binary: NIOSSLContext
        var management: NIOSSLContext
    }

    private enum Made: Equatable {
        /// To be replaced from this moment on.
        case until(Timestamp)
        case from(ServerCertificateFiles.Contents)
    }

    init(_ source: Source, now: Timestamp) throws(ServiceError) {
        self.source = source
        state = Mutex(try Self.make(source, now))
    }

    /// What new connections get.
    var context: NIOSSLContext { state.withLock { $0.contexts.http2 } }

    /// What new connections to the binary API and the feedback service get.
    var binaryContext: NIOSSLContext { state.withLock { $0.contexts.binary } }

    /// What new connections to the management API get.
    var managementContext: NIOSSLContext { state.withLock { $0.contexts.management } }

    /// Replaces the certificate when its end is near, or its files have changed.
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
                    "\(files.certificate) and \(files.key) are no certificate chain and its key in PEM: "
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
        // Whoever checks a client's certificate brings the roots (`CertificateAuthority`). Without this the system's are read,
        // which a slim container does not have.
        tls.trustRoots = .certificates([])
        // The guide asks for TLS 1.2 or higher (2.3.3).
        tls.minimumTLSVersion = .tlsv12
        // What HTTP/2 allows with TLS 1.2: a key of its own for each connection, and authenticated encryption (RFC 9113,
        // 9.2.2). All suites of TLS 1.3 are such.
        tls.cipherSuiteValues = [
            .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        ]
        tls.applicationProtocols = ["h2"]
        // A peer that has been told why its connection ends has no more to say; the five seconds that TLS would wait
        // for its goodbye are long for one that goes on sending.
        tls.shutdownTimeout = .seconds(1)
        // Clients are asked for a certificate, and may do without: providers have tokens, and a device that is not
        // activated yet has nothing.
        tls.certificateVerification = .optionalVerification
        var binary = tls
        // Clients of the binary API are old.
        binary.cipherSuites = defaultCipherSuites
        binary.applicationProtocols = []
        // The certificate alone says who is there (Guide, 3.1.1).
        binary.certificateVerification = .noHostnameVerification
        var management = tls
        management.applicationProtocols = ["http/1.1"]
        return Contexts(
            http2: try NIOSSLContext(configuration: tls),
            binary: try NIOSSLContext(configuration: binary),
            management: try NIOSSLContext(configuration: management))
    }
}

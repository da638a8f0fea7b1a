import Connections
import Credentials
import Foundation
import NIOCore
import NIOSSL
import Notifications
import Synchronization
import Trust

/// The certificate of the service's listeners. Either the service's authority issues it at the start and renews it
/// before it expires, or it comes from files, which are read again when they change. Open connections keep the old
/// certificate.
final class ServerCertificate: Sendable {
    /// A certificate from our authority is renewed this long before it expires. If the authority itself expires soon,
    /// its certificates have a shorter life, and are renewed in its last third.
    static let renewBefore = Duration.seconds(30 * 24 * 60 * 60)
    /// How often the certificate's expiry and files are checked.
    static let checkEvery = Duration.seconds(60)

    /// Where the certificate comes from.
    enum Source: Sendable {
        case authority(CertificateAuthority, names: [String])
        case files(ServerCertificateFiles)
    }

    /// The kinds of listeners, which have different TLS configurations.
    enum Kind: Sendable, Hashable, CaseIterable {
        case http2
        /// The binary API and the feedback service.
        case binary
        case management
        case webPush
    }

    /// The certificate at present.
    struct Present: Sendable {
        var chainPEM: [UInt8] = []
        var keyPEM: [UInt8] = []
        /// Whether the chain has more than the listeners' own certificate.
        var hasIntermediate = false
        /// Changes with each renewal.
        var revision = 0
    }

    private let source: Source
    private let state: Mutex<State>

    private struct State {
        /// The TLS configurations of the kinds of listeners. They contain the same certificate.
        private let http2: NIOSSLContext
        private let binary: NIOSSLContext
        private let management: NIOSSLContext
        private let webPush: NIOSSLContext
        var present: Present
        /// When to renew a certificate that the service's authority issued.
        let made: Made

        init(chainPEM: [UInt8], keyPEM: [UInt8], made: Made) throws {
            func context(_ kind: Kind) throws -> (context: NIOSSLContext, length: Int) {
                let tls = try configuration(kind, chainPEM: chainPEM, keyPEM: keyPEM)
                return (try NIOSSLContext(configuration: tls), tls.certificateChain.count)
            }
            let http2 = try context(.http2)
            self.http2 = http2.context
            binary = try context(.binary).context
            management = try context(.management).context
            webPush = try context(.webPush).context
            present = Present(chainPEM: chainPEM, keyPEM: keyPEM, hasIntermediate: http2.length > 1)
            self.made = made
        }

        func context(_ kind: Kind) -> NIOSSLContext {
            switch kind {
            case .http2: http2
            case .binary: binary
            case .management: management
            case .webPush: webPush
            }
        }
    }

    private enum Made: Equatable {
        /// The certificate is good until this time, and is then renewed.
        case until(Timestamp)
        case from(ServerCertificateFiles.Contents)
    }

    init(_ source: Source, now: Timestamp) throws(ServiceError) {
        self.source = source
        state = Mutex(try Self.make(source, now))
    }

    /// The TLS configuration for new connections to a kind of listener.
    func context(_ kind: Kind) -> NIOSSLContext { state.withLock { $0.context(kind) } }

    /// The certificate that new connections get.
    var present: Present { state.withLock { $0.present } }

    var isFromFiles: Bool {
        guard case .files = source else { return false }
        return true
    }

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
        state.withLock { state in
            let revision = state.present.revision + 1  // fits: counted one by one
            state = fresh
            state.present.revision = revision
        }
    }

    private static func make(_ source: Source, _ now: Timestamp) throws(ServiceError) -> State {
        switch source {
        case .files(let files):
            let contents = try files.read()
            do {
                return try State(chainPEM: contents.certificate, keyPEM: contents.key, made: .from(contents))
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
                return try State(
                    chainPEM: Array(issued.chainPEM.utf8), keyPEM: Array((issued.keyPEM ?? "").utf8),
                    made: .until(Self.renewal(now: now, validUntil: issued.validUntil)),
                )
            } catch {
                throw ServiceError(
                    .trust, "The server's certificate cannot be made: \(ConnectionFailure.cause(of: error)).")
            }
        }
    }

    /// When to renew a certificate.
    /// - Parameter validUntil: when the certificate expires, in seconds since 1970.
    private static func renewal(now: Timestamp, validUntil: Double) -> Timestamp {
        let life = max(0, validUntil - Double(now.milliseconds) / 1000)
        let early = min(Double(renewBefore.components.seconds), life / 3)
        return now.advanced(by: .seconds(Int64(life - early)))  // fits: the life of a certificate
    }

    /// The TLS configuration of a kind of listener.
    /// - Parameter chainPEM: the listeners' own certificate first.
    static func configuration(_ kind: Kind, chainPEM: [UInt8], keyPEM: [UInt8]) throws -> TLSConfiguration {
        let chain = try PEM(chainPEM).certificates.map { try NIOSSLCertificate(bytes: $0, format: .der) }
        let key = try NIOSSLPrivateKey(bytes: PEM(keyPEM).privateKey, format: .der)
        return switch kind {
        // Client certificates are optional: providers may use tokens, and a device that is not activated has no
        // certificate yet.
        case .http2:
            ListenerTLS.configuration(chain: chain, key: key, protocols: ["h2"], clientCertificates: .optional)
        // Require a client certificate, because nothing else identifies the sender (Guide, 3.1.1).
        case .binary:
            ListenerTLS.configuration(chain: chain, key: key, protocols: [], clientCertificates: .required)
        case .management:
            ListenerTLS.configuration(chain: chain, key: key, protocols: ["http/1.1"], clientCertificates: .optional)
        // HTTP/2 first, as for browsers.
        case .webPush: ListenerTLS.configuration(chain: chain, key: key, protocols: ["h2", "http/1.1"])
        }
    }
}

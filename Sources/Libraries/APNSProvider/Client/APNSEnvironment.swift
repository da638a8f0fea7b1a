import Connections
import Credentials
import Foundation
import NIOCore
import NIOSSL

/// The server that notifications are sent to: the service's development or production environment, or a server of
/// your own (Guide, 2.3.3). The two environments share nothing.
public struct APNSEnvironment: Sendable, Hashable {
    /// The host's name or IP address.
    public var host: String
    /// The port: 443, or 2197 if a firewall requires it.
    public var port: Int
    /// The certificates that the server's certificate is verified with.
    public var authority: Authority
    /// The server name in the TLS handshake, if it differs from the host's name.
    package var serverName: String?

    /// The certificates that the server's certificate is verified with.
    public enum Authority: Sendable, Hashable {
        /// The certificate authorities that the system trusts.
        case system
        /// The certificates in this PEM file.
        case file(String)
        /// These certificates, in PEM.
        case pem(String)

        /// Checks that the certificates can be read.
        /// - Throws: ``ProviderError/Code/badEnvironment`` if they cannot.
        package func check() throws(ProviderError) { _ = try trustRoots() }

        /// - Returns: nil for those of the system.
        fileprivate func trustRoots() throws(ProviderError) -> NIOSSLTrustRoots? {
            switch self {
            case .system: return nil
            case .file(let path):
                do {
                    return try Self.roots(in: Data(contentsOf: URL(fileURLWithPath: path)))
                } catch {
                    let cause = (error as? TrustError)?.clause ?? ConnectionFailure.cause(of: error)
                    throw ProviderError(
                        .badEnvironment, "The authority's certificate \(path) cannot be read: \(cause).")
                }
            case .pem(let text):
                do {
                    return try Self.roots(in: Data(text.utf8))
                } catch {
                    let cause = (error as? TrustError)?.clause ?? ConnectionFailure.cause(of: error)
                    throw ProviderError(
                        .badEnvironment, "The authority's certificate is not a certificate in PEM: \(cause).")
                }
            }
        }

        private static func roots(in pem: Data) throws -> NIOSSLTrustRoots {
            .certificates(try PEM(pem).certificates.map { try NIOSSLCertificate(bytes: $0, format: .der) })
        }
    }

    /// Apple's development server.
    public static let development = APNSEnvironment(host: "api.development.push.apple.com")
    /// Apple's production server.
    public static let production = APNSEnvironment(host: "api.push.apple.com")

    /// Creates the environment of a server of your own.
    /// - Parameters:
    ///   - url: `https://host:port`, and nothing else: the protocols have paths of their own. If there is no port, it is 443.
    ///   - authority: the certificates that the server's certificate is verified with. Carillon's root certificate
    ///     is the file `ca.pem` in its data folder.
    /// - Throws: ``ProviderError/Code/badEnvironment`` if `url` does not have this form.
    public static func custom(url: String, authority: Authority = .system) throws(ProviderError) -> APNSEnvironment {
        let server: ServerURL
        do throws(ServerURL.Fault) {
            server = try ServerURL(url)
        } catch {
            throw ProviderError(.badEnvironment, "The URL of the server \(error.detail)")
        }
        let port = server.port ?? 443
        guard (1...65_535).contains(port) else {
            throw ProviderError(.badEnvironment, "The URL of the server has the port \(port); a port is 1 to 65535.")
        }
        return APNSEnvironment(host: server.host, port: port, authority: authority)
    }

    package init(host: String, port: Int = 443, authority: Authority = .system, serverName: String? = nil) {
        self.host = host
        self.port = port
        self.authority = authority
        self.serverName = serverName
    }

    /// The same server on port 2197, "to allow APNs traffic through your firewall but to block other HTTPS traffic"
    /// (2.3.3).
    public var onAlternativePort: APNSEnvironment {
        var environment = self
        environment.port = 2197
        return environment
    }

    /// The value of the `:authority` header.
    var authorityHeader: String {
        let shown = host.contains(":") ? "[\(host)]" : host
        return port == 443 ? shown : "\(shown):\(port)"
    }

    /// The server name in the TLS handshake; nil if the host is an IP address (RFC 6066, 3).
    var tlsName: String? {
        if let serverName { return serverName }
        return host.isIPAddress ? nil : host
    }

    /// - Parameter protocols: the protocols that the handshake offers (RFC 7301).
    func tls(
        _ credentials: ProviderCredentials,
        protocols: [String] = ["h2"],
    ) throws(ProviderError) -> NIOSSLContext {
        var tls = TLSConfiguration.makeClientConfiguration()
        // Guide, 2.3.3: "TLS 1.2 or higher".
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = protocols
        // If the other side is silent and the client gives up the connection, wait only this long for its
        // close_notify.
        tls.shutdownTimeout = .seconds(1)
        if let roots = try authority.trustRoots() { tls.trustRoots = roots }
        if case .certificate(let certificate) = credentials.kind { tls = certificate.tls(tls) }
        do {
            return try NIOSSLContext(configuration: tls)
        } catch {
            throw ProviderError(.badEnvironment, unusable(authority, ConnectionFailure.cause(of: error)))
        }
    }

    /// Why TLS cannot be set up, in a sentence. Of a missing trust store, TLS gives no cause.
    private func unusable(_ authority: Authority, _ cause: String) -> String {
        switch authority {
        case .system:
            "The authorities that this system trusts cannot be read: install ca-certificates, or name the server's own "
                + "authority."
        case .file(let path): "The authority's certificate \(path) cannot be read: \(cause)."
        case .pem: "TLS cannot be set up: \(cause)."
        }
    }
}

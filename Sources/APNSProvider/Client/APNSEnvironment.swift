import Foundation
import NIOCore
import NIOSSL

/// Where notifications go: one of the two worlds of the service, which share nothing, or a server of your own (Guide,
/// 2.3.3).
public struct APNSEnvironment: Sendable, Hashable {
    /// The host's name or address.
    public var host: String
    /// 443, or 2197 where a firewall asks for it.
    public var port: Int
    /// What the server is known by.
    public var authority: Authority
    /// The name that the TLS handshake asks for, where it is not the host's.
    package var serverName: String?

    /// What a server's certificate has to come from.
    public enum Authority: Sendable, Hashable {
        /// Whom the system trusts.
        case system
        /// The certificates in a file, PEM.
        case file(String)
        /// Certificates, PEM.
        case pem(String)
    }

    /// Apple's development server.
    public static let development = APNSEnvironment(host: "api.development.push.apple.com")
    /// Apple's production server.
    public static let production = APNSEnvironment(host: "api.push.apple.com")

    /// A server of your own.
    /// - Parameters:
    ///   - url: `https://host:port`; the port is 443 unless it is named.
    ///   - authority: what its certificate has to come from. Carillon's is the file `ca.pem` in its data folder.
    /// - Throws: ``ProviderError/Code/badEnvironment`` when `url` is no such address.
    public static func custom(url: String, authority: Authority = .system) throws(ProviderError) -> APNSEnvironment {
        guard let parts = URLComponents(string: url), parts.scheme?.lowercased() == "https", let host = parts.host,
            !host.isEmpty, (1...65_535).contains(parts.port ?? 443)
        else { throw ProviderError(.badEnvironment, "\(url) is no address; write https://host:port.") }
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        return APNSEnvironment(host: bare, port: parts.port ?? 443, authority: authority)
    }

    package init(host: String, port: Int = 443, authority: Authority = .system, serverName: String? = nil) {
        self.host = host
        self.port = port
        self.authority = authority
        self.serverName = serverName
    }

    /// The server on port 2197, "to allow APNs traffic through your firewall but to block other HTTPS traffic" (2.3.3).
    public var onAlternativePort: APNSEnvironment {
        var environment = self
        environment.port = 2197
        return environment
    }

    /// `:authority`.
    var authorityHeader: String {
        let shown = host.contains(":") ? "[\(host)]" : host
        return port == 443 ? shown : "\(shown):\(port)"
    }

    /// An address goes without a name in the handshake (RFC 6066, 3).
    var tlsName: String? {
        if let serverName { return serverName }
        let isAddress = host.contains(":") || host.split(separator: ".").allSatisfy { UInt8($0) != nil }
        return isAddress ? nil : host
    }

    /// - Parameter protocols: what the handshake offers (RFC 7301).
    func tls(
        _ credentials: ProviderCredentials,
        protocols: [String] = ["h2"],
    ) throws(ProviderError) -> NIOSSLContext {
        var tls = TLSConfiguration.makeClientConfiguration()
        // Guide, 2.3.3: "TLS 1.2 or higher".
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = protocols
        // A connection that is given up because the other side is silent is not to wait for its goodbye.
        tls.shutdownTimeout = .seconds(1)
        switch authority {
        case .system: break
        case .file(let path): tls.trustRoots = .file(path)
        case .pem(let text):
            do {
                let certificates = try NIOSSLCertificate.fromPEMBytes(Array(text.utf8))
                guard !certificates.isEmpty else { throw NIOSSLError.failedToLoadCertificate }
                tls.trustRoots = .certificates(certificates)
            } catch {
                throw ProviderError(.badEnvironment, "The authority's certificate is no certificate in PEM.")
            }
        }
        if case .certificate(let certificate) = credentials.kind { tls = certificate.tls(tls) }
        do {
            return try NIOSSLContext(configuration: tls)
        } catch {
            guard case .file(let path) = authority else {
                throw ProviderError(.badEnvironment, "TLS cannot be set up: \(error)")
            }
            throw ProviderError(.badEnvironment, "The authority's certificate \(path) cannot be read: \(error)")
        }
    }
}

import Connections
import Credentials
import Foundation
import NIOSSL

/// The address of a provider server, and the certificates that verify it.
struct ProviderServerAddress: Sendable {
    /// Without a slash at the end.
    let url: String
    let host: String
    let port: Int
    /// The path before `/v1`, for a server behind a proxy; usually empty.
    let path: String
    /// Nil for HTTP without TLS.
    let tls: NIOSSLContext?

    init(_ text: String, authorityFile: String?) throws(DeviceError) {
        guard let parts = URLComponents(string: text), let host = parts.host, !host.isEmpty, parts.user == nil,
            parts.query == nil, parts.fragment == nil, (1...65_535).contains(parts.port ?? 443),
            let scheme = parts.scheme?.lowercased(), ["http", "https"].contains(scheme)
        else { throw DeviceError(.badAddress, "\(text) is not an address; write https://host or https://host:port.") }
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        guard scheme == "https" || bare.isLoopbackHost else {
            throw DeviceError(
                .badAddress, "\(text) has no TLS: the key and the secret would cross the network in the clear.")
        }
        url = text.hasSuffix("/") ? String(text.dropLast()) : text
        path =
            parts.percentEncodedPath.hasSuffix("/")
            ? String(parts.percentEncodedPath.dropLast()) : parts.percentEncodedPath
        self.host = bare
        port = parts.port ?? (scheme == "https" ? 443 : 80)
        guard scheme == "https" else {
            tls = nil
            return
        }
        do {
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.minimumTLSVersion = .tlsv12
            configuration.applicationProtocols = ["http/1.1"]
            if let authorityFile {
                let pem = try PEM(Data(contentsOf: URL(fileURLWithPath: authorityFile)))
                configuration.trustRoots = .certificates(
                    try pem.certificates.map { try NIOSSLCertificate(bytes: $0, format: .der) })
            }
            tls = try NIOSSLContext(configuration: configuration)
        } catch {
            let cause = (error as? TrustError)?.clause ?? ConnectionFailure.cause(of: error)
            throw DeviceError(
                .badAuthority, "The certificates \(authorityFile ?? "of the system") cannot be read: \(cause).")
        }
    }

    /// The value of the header `Host`.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (tls == nil ? 80 : 443) ? name : "\(name):\(port)"
    }

    /// The name in the TLS handshake; nil for an IP address, which RFC 6066, 3 forbids there.
    var serverName: String? { host.isIPAddress ? nil : host }
}

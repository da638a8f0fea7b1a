import Foundation

/// An HTTP proxy through which a client reaches the service, for networks that allow nothing else. The client asks it for a
/// tunnel (CONNECT, RFC 9110, 9.3.6). TLS goes through the tunnel, so the proxy sees the service's name and nothing of the
/// notifications, unless an authority that the client trusts has given it a certificate for its own IP address (docs/decisions/0086).
public struct HTTPProxy: Sendable, Hashable {
    /// The proxy's name or IP address.
    public let host: String
    /// The proxy's port.
    public let port: Int
    /// The value of `proxy-authorization`; nil if the proxy asks for none.
    package let authorization: String?

    /// Reads the address of a proxy.
    /// - Parameter url: `http://host:port`, with `user:password@` before the host if the proxy asks for it. Without a port, it
    ///   is 80.
    /// - Throws: ``ProviderError/Code/badEnvironment`` if `url` does not have this form. The error does not contain it.
    public init(url: String) throws(ProviderError) {
        guard url.contains("://") else {
            throw ProviderError(
                .badEnvironment, "The address of a proxy begins with http://; write http://host:port.")
        }
        guard let parts = URLComponents(string: url), parts.scheme?.lowercased() == "http", let host = parts.host,
            !host.isEmpty, (1...65_535).contains(parts.port ?? 80), ["", "/"].contains(parts.path), parts.query == nil
        else { throw ProviderError(.badEnvironment, "This is not the address of a proxy; write http://host:port.") }
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        port = parts.port ?? 80
        authorization = parts.user.map {
            "Basic " + Data("\($0):\(parts.password ?? "")".utf8).base64EncodedString()
        }
    }

    /// The proxy that the environment names for a service: `HTTPS_PROXY` or `https_proxy`, unless `NO_PROXY` or `no_proxy` has
    /// the service. A service on this machine is reached without a proxy.
    ///
    /// `NO_PROXY` is a list with commas of names (`example.com` and `.example.com` with all names below it, `*.example.com`
    /// those below it alone), of addresses, and of ranges of addresses (`10.0.0.0/8`). A name or an address may have a port.
    /// `*` is everything.
    /// - Parameters:
    ///   - variables: the process's environment.
    ///   - service: the service to reach.
    /// - Throws: ``ProviderError/Code/badEnvironment`` if a variable has another form.
    public static func named(
        by variables: [String: String],
        for service: APNSEnvironment,
    ) throws(ProviderError) -> HTTPProxy? {
        try ProxyRules(variables: variables).proxy(for: service.host, port: service.port)
    }
}

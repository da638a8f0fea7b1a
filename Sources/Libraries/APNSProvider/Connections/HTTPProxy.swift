import Connections
import Foundation

/// An HTTP proxy through which a client reaches the service, for networks that allow nothing else. The client asks it for a
/// tunnel (CONNECT, RFC 9110, 9.3.6). TLS goes through the tunnel, so the proxy sees the service's name and nothing of the
/// notifications.
public struct HTTPProxy: Sendable, Hashable {
    /// The proxy's name or IP address.
    public let host: String
    /// The proxy's port.
    public let port: Int
    /// The value of `proxy-authorization`; nil if the proxy asks for none.
    let authorization: String?

    /// Reads the address of a proxy.
    /// - Parameter url: `http://host:port`, with `user:password@` before the host if the proxy asks for it. Without a port, it
    ///   is 80.
    /// - Throws: ``ProviderError/Code/badEnvironment`` if `url` does not have this form. The error does not contain it.
    public init(url: String) throws(ProviderError) {
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
    /// the service's host or a domain that it is in. A service on this machine is reached without a proxy.
    /// - Parameters:
    ///   - service: the service to reach.
    ///   - variables: the process's environment.
    /// - Throws: ``ProviderError/Code/badEnvironment`` if the variable has another form than in ``init(url:)``.
    public static func named(
        by variables: [String: String],
        for service: APNSEnvironment,
    ) throws(ProviderError) -> HTTPProxy? {
        guard
            let url = [variables["HTTPS_PROXY"], variables["https_proxy"]].compactMap(\.self).first(where: {
                !$0.isEmpty
            }),
            !service.host.isLoopbackHost
        else { return nil }
        let exceptions = variables["NO_PROXY"] ?? variables["no_proxy"] ?? ""
        for exception in exceptions.split(separator: ",") {
            let name = exception.trimmingCharacters(in: .whitespaces).lowercased()
            if name == "*" || isIn(service.host.lowercased(), name) { return nil }
        }
        do throws(ProviderError) {
            return try HTTPProxy(url: url)
        } catch {
            throw ProviderError(.badEnvironment, "HTTPS_PROXY: \(error.cause)")
        }
    }

    private static func isIn(_ host: String, _ domain: String) -> Bool {
        let domain = domain.hasPrefix(".") ? String(domain.dropFirst()) : domain
        return !domain.isEmpty && (host == domain || host.hasSuffix("." + domain))
    }
}

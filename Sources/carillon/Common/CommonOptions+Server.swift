import APNSProvider
import Notifications
import Service

extension CommonOptions {
    /// The server to send to: the one with this URL, or else the running service.
    /// - Parameters:
    ///   - url: the address as `https://host:port`; nil for the running service.
    ///   - ca: the file of the authority to trust. If it is nil, the running service's own is trusted, and for a URL the
    ///     system's.
    func server(url: String?, ca: String?, _ environment: Environment) throws -> APNSEnvironment {
        if let url {
            let server = try HostAndPort(url)
            return APNSEnvironment(host: server.host, port: server.port, authority: ca.map { .file($0) } ?? .system)
        }
        let service = try runningService()
        let server = try service.provider(environment)
        return APNSEnvironment(
            host: server.host, port: server.port, authority: .file(ca ?? service.description.ca),
            serverName: service.description.serverName(environment))
    }
}

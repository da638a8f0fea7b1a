import APNSProvider
import ArgumentParser
import CommandSupport
import Notifications
import Service

/// The options that select the server that a provider's command speaks to.
struct ServerOptions: ParsableArguments {
    @Option(help: "The server, https://host:port; the running service by default.")
    var url: String?

    @Option(help: "The root certificate to trust, PEM. By default the service's own; with --url, the system's.")
    var ca: String?

    /// The server of the provider API: the one with the URL, or else the running service.
    func server(_ common: CommonOptions, _ environment: Environment) throws -> APNSEnvironment {
        if let url { return try server(HostAndPort(url)) }
        let service = try common.runningService()
        let server = try service.provider(environment)
        return APNSEnvironment(
            host: server.host, port: server.port, authority: .file(ca ?? service.description.ca),
            serverName: service.description.serverName(environment))
    }

    /// The server of the binary API or of the feedback service, likewise.
    /// - Parameter port: the port if the URL has none.
    func legacy(
        _ address: KeyPath<ServiceDescription.Addresses, String>,
        port: Int,
        _ common: CommonOptions,
        _ environment: Environment,
    ) throws -> APNSEnvironment {
        if let url { return try server(HostAndPort(url, defaultPort: port)) }
        return try common.runningService().legacy(address, environment)
    }

    private func server(_ address: HostAndPort) -> APNSEnvironment {
        APNSEnvironment(host: address.host, port: address.port, authority: ca.map { .file($0) } ?? .system)
    }
}

import APNSProvider
import ArgumentParser
import CommandSupport
import Foundation
import Notifications
import Service

/// The options that select the server that a provider's command speaks to.
struct ServerOptions: ParsableArguments {
    @Option(help: "The server, https://host:port; the running service by default.")
    var url: String?

    @Option(help: "The root certificate to trust, PEM. By default the service's own; with --url, the system's.")
    var ca: String?

    @Option(
        help: ArgumentHelp(
            "The HTTP proxy through which the server is reached, http://host:port; HTTPS_PROXY and NO_PROXY by default.",
            valueName: "url"))
    var proxy: String?

    /// The proxy through which to reach a server; nil for a direct connection.
    func proxy(to server: APNSEnvironment) throws -> HTTPProxy? {
        guard let proxy else { return try HTTPProxy.named(by: ProcessInfo.processInfo.environment, for: server) }
        do throws(ProviderError) {
            return try HTTPProxy(url: proxy)
        } catch {
            throw CommandError("--proxy is not understood. \(error.cause)")
        }
    }

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

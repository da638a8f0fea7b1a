import BinaryGateway
import Connections
import HTTP2
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Notifications

/// Opens the listeners of each kind on the ports of the plan.
struct ListenerOpening {
    let settings: Settings
    let certificate: ServerCertificate
    let group: MultiThreadedEventLoopGroup
    let logger: Logger

    /// All listeners of one kind, and the announced one of each environment.
    struct Listeners {
        var all: [Listener] = []
        private var announced: [Environment: Listener] = [:]

        mutating func append(_ listener: Listener, for environments: some Sequence<Environment>) {
            all.append(listener)
            for environment in environments { announced[environment] = announced[environment] ?? listener }
        }

        /// The address in the form `host:port`.
        func address(_ environment: Environment) -> String { announced[environment]?.hostAndPort ?? "" }
    }

    /// Opens listeners for HTTP/2.
    func open<Service: HTTP2Service>(
        _ kind: PortPlan.Listener,
        _ services: [Environment: Service],
        _ connects: ConnectGuard,
    ) async throws(ServiceError) -> Listeners {
        try await open(kind, services, connects) { [certificate] in certificate.context }
    }

    /// Opens listeners for the binary API's ports.
    func openBinary<Service: CertifiedService>(
        _ kind: PortPlan.Listener,
        _ services: [Environment: Service],
        _ connects: ConnectGuard,
    ) async throws(ServiceError) -> Listeners {
        try await open(kind, services, connects) { [certificate] in certificate.binaryContext }
    }

    private func open<Service: ConnectionService>(
        _ kind: PortPlan.Listener,
        _ services: [Environment: Service],
        _ connects: ConnectGuard,
        tls: @escaping @Sendable () -> NIOSSLContext,
    ) async throws(ServiceError) -> Listeners {
        var listeners = Listeners()
        guard settings.ports == .apple else {
            for (environment, service) in services {
                for port in settings.ports.ports(kind, environment) {
                    let name = "\(environment.rawValue) \(kind.rawValue)"
                    listeners.append(
                        try await open(.always(service), name, host: settings.host, port, connects, tls: tls),
                        for: [environment])
                }
            }
            return listeners
        }
        guard let fallback = services[.development] ?? services[.production] else { return listeners }
        let choice = ServiceChoice.byServerName { services[PortPlan.environment(ofServerName: $0)] ?? fallback }
        for port in settings.ports.ports(kind, .development) {
            listeners.append(
                try await open(choice, kind.rawValue, host: settings.host, port, connects, tls: tls),
                for: services.keys)
        }
        return listeners
    }

    private func open<Service: ConnectionService>(
        _ choice: ServiceChoice<Service>,
        _ name: String,
        host: String,
        _ port: Int,
        _ connects: ConnectGuard,
        tls: @escaping @Sendable () -> NIOSSLContext,
    ) async throws(ServiceError) -> Listener {
        var logger = logger
        logger[metadataKey: "listener"] = .string(name)
        do {
            return try await Listener.bind(
                choice, to: .tcp(host: host, port: port), tls: tls, limits: settings.listener, connects: connects,
                proxies: settings.proxies, group: group, logger: logger)
        } catch {
            throw Self.failure(error, name, port, host)
        }
    }

    private static func failure(_ error: any Error, _ name: String, _ port: Int, _ host: String) -> ServiceError {
        ServiceError(
            .cannotListen,
            "The \(name) port \(port) on \(host) cannot be opened (\(ConnectionFailure.cause(of: error))); "
                + remedy(error))
    }

    /// Advice for a person if a port cannot be opened.
    static func remedy(_ error: any Error) -> String {
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE: "stop what uses it, or start with --ports ephemeral."
        case EACCES: "ports below 1,024 take more rights; start with other --ports."
        default: "name one of this machine's own addresses with --host."
        }
    }
}

extension Listener {
    /// The address in the form `host:port`.
    var hostAndPort: String { localAddress?.hostAndPort ?? "" }
}

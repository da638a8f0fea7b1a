import Foundation
import Logging
import BinaryAPI
import Connections
import HTTP2
import Matching
import NIOCore
import Notifications
import ProviderAPI
import Stage

/// Opens the listeners of each kind on the ports that the plan gives.
struct ListenerOpening {
    let base: ServiceBase
    let certificate: ServerCertificate
    let planning: HandshakePlanning

    private var settings: Settings { base.settings }

    /// All listeners of one kind, and for each environment the one that the service announces.
    struct Listeners: Sendable {
        var all: [Listener] = []
        private var announced: [Environment: Listener] = [:]

        mutating func append(_ listener: Listener, for environments: some Sequence<Environment>) {
            all.append(listener)
            for environment in environments { announced[environment] = announced[environment] ?? listener }
        }

        /// The announced address of an environment, in the form `host:port`.
        func address(_ environment: Environment) -> String { announced[environment]?.hostAndPort ?? "" }
    }

    /// Opens the listeners of a kind that speaks HTTP/2.
    func open<Service: HTTP2Service>(
        _ kind: PortPlan.Listener,
        _ services: [Environment: Service],
        _ connects: ConnectGuard,
    ) async throws(ServiceError) -> Listeners {
        try await open(kind, services, connects) { _ in .http2 }
    }

    /// Opens the listeners of the binary API or the feedback service.
    /// - Parameter channels: the management of broadcast channels, which clients that offer HTTP/2 get on these
    ///   ports; empty if these ports do not have it.
    func openBinary<Service: CertifiedService>(
        _ kind: PortPlan.Listener,
        _ services: [Environment: Service],
        channels: [Environment: HTTP2StageService<ChannelAPI>] = [:],
        _ connects: ConnectGuard,
    ) async throws(ServiceError) -> Listeners {
        guard !channels.isEmpty else {
            return try await open(kind, services, connects) { _ in .binary }
        }
        return try await open(
            kind, services.mapValues { SharedPort(.legacy($0)) },
            http2: channels.mapValues { SharedPort(.channels($0)) },
            connects
        ) { hello in
            hello?.offersHTTP2 == true ? .http2 : .binary
        }
    }

    /// - Parameter http2: the services for clients that offer HTTP/2, if these are other services than for the
    ///   remaining clients.
    private func open<Service: ConnectionService>(
        _ kind: PortPlan.Listener,
        _ services: [Environment: Service],
        http2: [Environment: Service] = [:],
        _ connects: ConnectGuard,
        tls: @escaping @Sendable (ClientHello?) -> ServerCertificate.Kind,
    ) async throws(ServiceError) -> Listeners {
        var listeners = Listeners()
        guard settings.ports == .apple else {
            for (environment, service) in services {
                for port in ports(kind, environment) {
                    let name = "\(environment.rawValue) \(kind.rawValue)"
                    let other = http2[environment] ?? service
                    let choice = ServiceChoice.byHello { $0?.offersHTTP2 == true ? other : service }
                    listeners.append(
                        try await open(
                            choice, name, host: settings.host, port, connects,
                            tls: plan(kind, tls) { _ in environment }),
                        for: [environment])
                }
            }
            return listeners
        }
        let environments = Set(services.keys)
        let fallbackEnvironment = environments.contains(.development) ? Environment.development : .production
        guard let fallback = services[fallbackEnvironment] else { return listeners }
        let http2Fallback = http2[.development] ?? http2[.production]
        let choice = ServiceChoice.byHello { hello in
            let environment = PortPlan.environment(ofServerName: hello?.serverName)
            let other = hello?.offersHTTP2 == true ? http2[environment] ?? http2Fallback : nil
            return other ?? services[environment] ?? fallback
        }
        for port in ports(kind, .development) {
            listeners.append(
                try await open(
                    choice, kind.rawValue, host: settings.host, port, connects,
                    tls: plan(kind, tls) { hello in
                        let environment = PortPlan.environment(ofServerName: hello?.serverName)
                        return environments.contains(environment) ? environment : fallbackEnvironment
                    }),
                for: services.keys)
        }
        return listeners
    }

    /// Returns what plans the handshake of each connection.
    private func plan(
        _ kind: PortPlan.Listener,
        _ tls: @escaping @Sendable (ClientHello?) -> ServerCertificate.Kind,
        environment: @escaping @Sendable (ClientHello?) -> Environment,
    ) -> @Sendable (ClientHello?, SocketAddress?) -> HandshakePlan {
        { [planning] hello, remote in
            let tls = tls(hello)
            guard let interface = Self.interface(kind, tls) else {
                return HandshakePlan(planning.certificate.context(tls))
            }
            return planning.plan(tls, hello, from: remote, to: environment(hello), interface)
        }
    }

    /// The interface that a provider gets; nil if rehearsals are not about it, because nobody sends notifications on it.
    private static func interface(_ kind: PortPlan.Listener, _ tls: ServerCertificate.Kind) -> ProviderInterface? {
        switch kind {
        case .provider: .http2
        case .binary: tls == .http2 ? .channels : .binary
        case .feedback: tls == .http2 ? .channels : nil
        case .courier: nil
        }
    }

    private func ports(_ kind: PortPlan.Listener, _ environment: Environment) -> [Int] {
        if let port = settings.chosenPorts[kind]?[environment] { return [port] }
        return settings.ports.ports(kind, environment).map { settings.usesFreePorts ? 0 : $0 }
    }

    private func open<Service: ConnectionService>(
        _ choice: ServiceChoice<Service>,
        _ name: String,
        host: String,
        _ port: Int,
        _ connects: ConnectGuard,
        tls: @escaping @Sendable (ClientHello?, SocketAddress?) -> HandshakePlan,
    ) async throws(ServiceError) -> Listener {
        var logger = base.logger
        logger[metadataKey: "listener"] = .string(name)
        do {
            return try await Listener.bind(
                choice, to: .tcp(host: host, port: port), tlsFor: tls, limits: settings.listener, connects: connects,
                proxies: settings.proxies, group: base.group, logger: logger)
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

    /// Says what a person can do if a port cannot be opened.
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

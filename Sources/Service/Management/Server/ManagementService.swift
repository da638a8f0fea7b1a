import Connections
import Credentials
import Delivery
import HTTPAPI
import Hummingbird
import Logging
import NIOCore
import Notifications
import Trust

/// Serves the connections of one of the API's listeners: determines who the client is, and adds Hummingbird's
/// handlers.
final class ManagementService: ConnectionService {
    /// The kind of the listener.
    enum Transport: Sendable, Hashable {
        case socket
        case network(isLoopback: Bool)
        case tls
    }

    private let transport: Transport
    private let rules: AccessRules
    private let router: ManagementRouter
    private let table: ConnectionTable
    private let tasks: ConnectionTasks
    private let api: ManagementAPI
    private let logger: Logger

    init(
        _ transport: Transport,
        _ rules: AccessRules,
        _ api: ManagementAPI,
        router: ManagementRouter,
        table: ConnectionTable,
        tasks: ConnectionTasks,
        logger: Logger,
    ) {
        self.transport = transport
        self.rules = rules
        self.api = api
        self.router = router
        self.table = table
        self.tasks = tasks
        self.logger = logger
    }

    func admit(_ chain: [[UInt8]]) throws -> AdministratorIdentity {
        let now = Double(api.now.milliseconds) / 1000
        guard
            case .administrator(let identity) = try api.authority.verifyPeer(
                chain: chain, as: .administrator, now: now)
        else { throw TrustError(.wrongUse, "The certificate is not an administrator's.") }
        guard !api.accounts.current.hasRevokedAdministrator(identity.serial) else {
            throw TrustError(.revoked, "The administrator's certificate \(identity.serial) was revoked.")
        }
        return identity
    }

    static var protocols: [String] { ["http/1.1"] }

    static func alert(for error: any Error) -> UInt8? { (error as? TrustError)?.tlsAlert }

    func open(_ accepted: AcceptedConnection, from peer: AdministratorIdentity?) -> (any ServedConnection)? {
        let caller: ManagementCaller =
            switch transport {
            case .socket: .socket
            case .network(let isLoopback): .network(isLoopback: isLoopback)
            case .tls: .certificate(peer)
            }
        let api = api
        let connection = ManagementConnection(
            accepted.channel, in: table,
            isTrusted: {
                guard case .certificate(let identity?) = caller else { return true }
                let trust = AdministratorTrust(api.accounts)
                return trust.refusal(of: identity, now: api.now) == nil && trust.isCurrent
            }, malformed: { accepted.malformedRequest($0) }
        ) { [router, rules, tasks, logger] channel, requests in
            _ = tasks.serve(channel, requests, logger) { request, channel in
                let context = ManagementContext(
                    source: .init(logger: logger, caller: caller, rules: rules, connectionEnd: channel.closeFuture))
                return try await router.respond(to: request, context)
            }
        }
        if connection == nil { accepted.limitExceeded(.managementConnections) }
        return connection
    }
}

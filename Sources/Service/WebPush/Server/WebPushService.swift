import Connections
import HTTPAPI
import HTTPAPIOverHTTP2
import Logging
import NIOCore

/// Serves the connections of one listener with HTTP/2 or HTTP/1.1.
final class WebPushService: ConnectionService {
    /// What is in front of the service.
    enum Way: Sendable {
        /// Nothing: senders connect with TLS.
        case direct(isHTTP2: Bool)
        /// A proxy that ends TLS, on this machine or at one of these addresses. No other client is served.
        case proxied([AddressRange])
    }

    typealias Peer = Never

    private let api: WebPushAPI
    private let way: Way
    private let rules: RequestConnection.Rules
    private let tasks: ConnectionTasks
    private let logger: Logger

    init(
        _ api: WebPushAPI, _ way: Way, _ rules: RequestConnection.Rules, _ tasks: ConnectionTasks, _ logger: Logger
    ) {
        self.api = api
        self.way = way
        self.rules = rules
        self.tasks = tasks
        self.logger = logger
    }

    static var protocols: [String] { ["h2", "http/1.1"] }

    func open(_ accepted: AcceptedConnection, from peer: Never?) -> (any ServedConnection)? {
        let number = accepted.handshake?.number ?? api.connectionOpened()
        let isNear = accepted.isLocal(or: api.acceptAnyFrom)
        switch way {
        case .direct(let isHTTP2):
            return WebPushConnection(
                api, accepted,
                Sender(address: accepted.remote, isNamedByField: false, connection: number, isNear: isNear),
                isHTTP2: isHTTP2, rules, tasks, logger)
        case .proxied(let proxies):
            // The connection itself has to come from a proxy. The client that a PROXY header names may be anywhere.
            guard let remote = accepted.channel.remoteAddress,
                remote.isLoopback || proxies.contains(where: { $0.contains(remote) })
            else {
                accepted.report(
                    "A client was refused because it is not a proxy of --proxy-protocol", "\(accepted.peer)")
                return nil
            }
            // A PROXY header counts more than the request's field.
            let sender = Sender(
                address: accepted.remote, isNamedByField: accepted.isDirect, connection: number, isNear: isNear)
            return WebPushConnection(api, accepted, sender, isHTTP2: false, rules, tasks, logger)
        }
    }
}

import Connections
import Delivery
import Matching
import NIOCore
import Notifications
import Storage
import Trust
import WebPush

/// What application servers of Web Push connect to.
struct WebPushParts: Sendable {
    /// The origin of all endpoints.
    let origin: String
    /// Where the service itself listens.
    let url: String
    let listeners: [Listener]
    private let server: WebPushServer

    /// Opens the listeners.
    /// - Returns: nil if no setting asks for Web Push.
    static func open(
        _ base: ServiceBase, _ planning: HandshakePlanning, _ delivery: Delivery, _ development: DevelopmentParts?,
        _ phones: PhoneParts,
    ) async throws(ServiceError) -> WebPushParts? {
        guard base.settings.webPush.isOn else { return nil }
        let server = WebPushServer(logger: base.logger)
        do throws(ServiceError) {
            return try await WebPushParts(base, planning, delivery, development, phones, server)
        } catch {
            await server.close()
            throw error
        }
    }

    private init(
        _ base: ServiceBase, _ planning: HandshakePlanning, _ delivery: Delivery, _ development: DevelopmentParts?,
        _ phones: PhoneParts, _ server: WebPushServer,
    ) async throws(ServiceError) {
        let settings = base.settings
        let api = WebPushAPI(
            environments: settings.environments, subscriptions: base.store, accounts: base.store,
            delivery: delivery, seal: base.secrets.credentialSeal, limits: settings.webPush.limits,
            limitLog: base.limitLog, clock: base.clock, tools: development?.webPushTools,
            relay: WebPushRelay(phones: phones.forwarding), phones: phones.subscriptions, handles: phones.handles)
        var listeners: [Listener] = []
        var urls: [String] = []
        if let address = settings.webPush.listen {
            let connects = ConnectGuard(
                .webPushConnectRate, settings.webPush.limits.perAddress, budget: base.budget, log: base.limitLog)
            let listener = try await Self.listen(at: address, "web-push") {
                try await server.listen(
                    to: .tcp(host: address.host, port: address.port), limits: settings.listener, connects: connects,
                    proxies: settings.proxies,
                    tls: { planning.plan(.webPush, $0, from: $1, to: .development, .webPush) }, api)
            }
            listeners.append(listener)
            urls.append("https://\(Self.name(of: listener, at: address, settings))")
        }
        if let address = settings.webPush.plain {
            // All connections come from the proxy, so a limit of one address would be one of all senders.
            let connects = ConnectGuard(.webPushConnectRate, .off, budget: base.budget, log: base.limitLog)
            let listener: Listener
            do throws(ServiceError) {
                listener = try await Self.listen(at: address, "web-push-plain") {
                    try await server.listenPlain(
                        to: .tcp(host: address.host, port: address.port), limits: settings.listener,
                        connects: connects, proxies: settings.proxies, api)
                }
            } catch {
                for listener in listeners { await listener.shutDown(within: .zero) }
                throw error
            }
            listeners.append(listener)
            urls.append("http://\(Self.name(of: listener, at: address, settings))")
        }
        (self.server, self.listeners) = (server, listeners)
        url = urls.first ?? ""
        origin = settings.webPush.origin ?? Settings.origin(url) ?? url
        api.begin(at: origin)
        phones.begin(at: origin)
    }

    /// The name and the port under which clients reach a listener.
    private static func name(of listener: Listener, at address: ListenAddress, _ settings: Settings) -> String {
        guard address.isEveryAddress, let port = listener.localAddress?.port else { return listener.hostAndPort }
        return ListenAddress(host: settings.hostnames.first ?? "localhost", port: port).text
    }

    private static func listen(
        at address: ListenAddress, _ setting: String, _ open: () async throws -> Listener
    ) async throws(ServiceError) -> Listener {
        do {
            return try await open()
        } catch {
            throw ServiceError(
                .cannotListen,
                "The Web Push port \(address.port) on \(address.host) cannot be opened "
                    + "(\(ConnectionFailure.cause(of: error))); name another with --\(setting) ADDRESS:PORT.")
        }
    }

    /// Ends the event loop, after the listeners were shut down.
    func close() async { await server.close() }
}

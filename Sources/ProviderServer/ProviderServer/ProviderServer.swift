package import APNSProvider
import CampaignStore
import Connections
import Console
import Credentials
import Foundation
import HTTPAPI
import HTTPAPIOverHTTP2
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Notifications
import PrivateFiles
import ServiceLifecycle

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The provider server. It connects the store, the API and the sending of messages.
package final class ProviderServer: Service {
    /// The settings of a server.
    package struct Settings: Sendable {
        /// The folder with all files of the server.
        package var folder: String
        package var host: String
        /// The port; 0 lets the system choose.
        package var port: Int
        package var store: CampaignStoreChoice = .sqlite
        /// More names of the server, under which a browser may open the console.
        package var hostnames: [String] = []
        /// Whether an app's key may add hooks on this machine. The administrator's always may.
        package var allowsLocalHooks = false
        /// PEM files with the certificate's chain and its key; nil for HTTP/1.1 without TLS, on loopback only.
        package var tls: (certificate: String, key: String)?
        package var clock: ProviderClock
        /// The proxy through which push services and hooks are reached, and its exceptions.
        package var proxies = ProxyRules.none
        /// The time for all attempts of one pass to send a notification.
        package var deadline = ProviderServerLimits.deadline
        /// The limits that ``ProviderServerLimits/settings`` change.
        var openConnections = ProviderServerLimits.openConnections
        var idleTimeout = ProviderServerLimits.idleTimeout
        var requestTimeout = ProviderServerLimits.requestTimeout
        var endTimeout = ProviderServerLimits.endTimeout
        var installationChanges = ProviderServerLimits.installationChanges
        var newInstallations = ProviderServerLimits.newInstallations
        var messageDays = ProviderServerLimits.messageDays
        /// Returns the page for `GET /metrics`; nil for no such page.
        package var metrics: (@Sendable () -> String)?

        package init(folder: String, host: String = "127.0.0.1", port: Int = 0) {
            self.folder = folder
            self.host = host
            self.port = port
            clock = .system
        }
    }

    /// The name of the file with the administrator's key, in the folder.
    package static let administratorKeyFile = "provider.key"

    /// The file that a server locks while it starts, runs and ends.
    package static func lockFile(in folder: String) -> String { FolderLock.fileOfProviderServer(in: folder) }

    private let settings: Settings
    private let tls: NIOSSLContext?
    private let lock: FolderLock
    private let openStore: CampaignStoreChoice.OpenStore
    private let campaigns: CampaignScheduler
    private let hooks: HookScheduler
    private let feedback: FeedbackScheduler
    private let cleaning: MessageCleaning
    private let clients: ProviderClients
    private let api: ProviderServerAPI
    private let sessions = ConsoleSessions()
    private let logger: Logger
    private let listening: @Sendable (_ description: Description) async -> Void

    /// Opens the store.
    /// - Parameter listening: called with the server's address as soon as it accepts connections.
    package init(
        _ settings: Settings,
        logger: Logger,
        listening: @escaping @Sendable (_ description: Description) async -> Void,
    ) async throws {
        guard settings.tls != nil || settings.host.isLoopbackHost else {
            throw ProviderServerError(
                .invalidSetting,
                "Keys must not cross a network in the clear: give --certificate and --key, or listen on 127.0.0.1.")
        }
        self.settings = settings
        self.logger = logger
        self.listening = listening
        tls = try settings.tls.map { try Self.tls(certificate: $0.certificate, key: $0.key) }
        try Files.makeFolder(settings.folder)
        lock = try FolderLock.ofProviderServer(settings.folder)
        // A server that was killed leaves its address. Remove it, so that commands wait for the new one.
        Description.remove(folder: settings.folder)
        let openStore = try await settings.store.open(folder: settings.folder, lock, now: settings.clock.now)
        self.openStore = openStore
        let (store, vault) = (openStore.store, openStore.vault)
        ProviderServerMetrics.begin()
        let apps = try await AppDirectory(store)
        let proxies = settings.proxies
        clients = ProviderClients(vault, deadline: settings.deadline, proxies: proxies, logger: logger)
        let hooks = HookScheduler(store, vault, proxies: proxies, clock: settings.clock, logger: logger)
        self.hooks = hooks
        campaigns = CampaignScheduler(
            store, apps, clients, clock: settings.clock, deadline: settings.deadline, logger: logger
        ) { Task { await hooks.runDue() } }
        feedback = FeedbackScheduler(store, apps, vault, proxies: proxies, clock: settings.clock, logger: logger) {
            Task { await hooks.runDue() }
        }
        api = ProviderServerAPI(
            store: store, apps: apps, vault: vault, campaigns: campaigns, feedback: feedback,
            channels: BroadcastChannels(
                vault: vault, deadline: ProviderServerLimits.channelDeadline, proxies: proxies),
            access: ProviderAccess(
                administratorKeyDigest: AccessKey.digest(openStore.administratorKey), apps: apps,
                identityKeys: IdentityKeyFiles(logger: logger),
                browser: BrowserRules(host: settings.host, hostnames: settings.hostnames, sessions: sessions),
                clock: settings.clock),
            clock: settings.clock, console: ProviderConsole(sessions: sessions, isSecure: settings.tls != nil),
            metrics: settings.metrics,
            rates: InstallationRates(changes: settings.installationChanges, additions: settings.newInstallations),
            allowsLocalHooks: settings.allowsLocalHooks, logger: logger)
        cleaning = MessageCleaning(store, days: settings.messageDays, clock: settings.clock, logger: logger)
    }

    private static func tls(certificate: String, key: String) throws -> NIOSSLContext {
        do {
            let contents = { (file: String) in try PEM(Data(contentsOf: URL(fileURLWithPath: file))) }
            let tls = ListenerTLS.configuration(
                chain: try contents(certificate).certificates.map { try NIOSSLCertificate(bytes: $0, format: .der) },
                key: try NIOSSLPrivateKey(bytes: contents(key).privateKey, format: .der),
                protocols: NegotiatedChannel.protocols)
            // BoringSSL checks that the key belongs to the certificate when it has both.
            return try NIOSSLContext(configuration: tls)
        } catch {
            let cause = (error as? TrustError)?.clause ?? ConnectionFailure.cause(of: error)
            throw ProviderServerError(
                .unusableFile, "\(certificate) and \(key) are not a certificate and its key in PEM: \(cause).")
        }
    }

    /// The event loops of all servers in this process.
    private static let eventLoops: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton

    /// Runs a task on every event loop, and returns when all have run it. This shows that no event loop hangs.
    package static func visitEventLoops() async {
        // The submission fails only if the event loops have ended, which these never do.
        for loop in eventLoops.makeIterator() { try? await loop.submit {}.get() }
    }

    /// Serves until the graceful shutdown. Then it waits for the answers to requests and notifications under way, both for a
    /// limited time.
    package func run() async throws {
        let scheme = settings.tls == nil ? "http" : "https"
        let host = settings.host.contains(":") ? "[\(settings.host)]" : settings.host
        let responder = api.allRoutes().buildResponder()
        let application = Application(
            responder: responder,
            server: server(responder),
            configuration: ApplicationConfiguration(
                address: .hostname(settings.host, port: settings.port),
                availableConnectionsDelegate: MaximumAvailableConnections(settings.openConnections)),
            onServerRunning: { [listening, campaigns, feedback, hooks, cleaning, settings, sessions, logger] channel in
                await campaigns.runDue()
                await feedback.runDue()
                await hooks.runDue()
                await cleaning.runDue()
                // The listener has no address any more if the server was told to end while it was starting.
                guard let port = channel.localAddress?.port else { return }
                sessions.address = "\(scheme)://\(Self.browserHost(settings)):\(port)"
                let description = Description(
                    url: "\(scheme)://\(host):\(port)",
                    keyFile: settings.folder + "/" + Self.administratorKeyFile, certificate: settings.tls?.certificate)
                do {
                    try description.write(folder: settings.folder)
                } catch {
                    // Continue all the same: the server answers requests, and only commands on this machine cannot find
                    // it.
                    logger.warning("The server's address cannot be written", metadata: ["cause": "\(error)"])
                }
                await listening(description)
            },
            eventLoopGroupProvider: .shared(Self.eventLoops),
            logger: quiet)
        do {
            try await withGracefulShutdownHandler {
                try await application.run()
            } onGracefulShutdown: { [campaigns] in
                // Requests under way may take seconds. Stop campaigns first, so that they send nothing in this time.
                Task { await campaigns.close() }
            }
        } catch {
            await close()
            throw error
        }
        await close()
    }

    /// The host that a browser on this machine uses for the console. With TLS it has to be a name of the certificate.
    private static func browserHost(_ settings: Settings) -> String {
        if let name = settings.hostnames.first { return name }
        guard settings.host.contains(":") else { return settings.host.isEveryAddress ? "127.0.0.1" : settings.host }
        return settings.host.isEveryAddress ? "[::1]" : "[\(settings.host)]"
    }

    private func close() async {
        Description.remove(folder: settings.folder)
        await campaigns.close()
        await cleaning.close()
        await feedback.shutDown()
        // Waits ten seconds for the answers that are under way.
        await clients.shutDown()
        await campaigns.finished()
        await hooks.shutDown()
        await openStore.store.close()
    }

    /// A logger that omits Hummingbird's messages about its own life cycle.
    private var quiet: Logger {
        var logger = logger
        logger.logLevel = max(.warning, logger.logLevel)
        return logger
    }

    private func server(_ responder: some HTTPResponder<BasicRequestContext>) -> HTTPServerBuilder {
        let limits = RequestLimits(
            request: settings.requestTimeout, bodyBytesPerSecond: ProviderServerLimits.bodyBytesPerSecond,
            answer: settings.requestTimeout)
        let log = ConnectionLog(
            logger, limits: LimitLog(logger, countMalformed: { ProviderServerMetrics.countMalformed($1) }))
        let http = HTTP1Channel.Configuration(
            additionalChannelHandlers: [
                RequestGuard(limits) { problem in log.malformedRequest(peer: nil) { problem.detail } }
            ], idleTimeout: settings.idleTimeout,
            httpDecoderConfiguration: RequestLimits.decoder)
        let idle = settings.idleTimeout + ProviderServerLimits.idleMargin
        let times = ConnectionGuard.Times(
            first: idle, idle: idle, ending: settings.endTimeout,
            idleEnding: min(settings.endTimeout, ProviderServerLimits.idleMargin))
        guard let tls else {
            return HTTPServerBuilder { respond in
                GuardedChannel(base: HTTP1Channel(responder: respond, configuration: http), times: times)
            }
        }
        let (logger, idleTimeout) = (quiet, settings.idleTimeout)
        return HTTPServerBuilder { respond in
            NegotiatedChannel(
                tls: tls, http1: HTTP1Channel(responder: respond, configuration: http),
                rules: RequestConnection.Rules(limits, idle: idleTimeout), times: times
            ) { rule in
                log.malformedRequest(peer: nil) { rule }
            } respond: { request, channel in
                let context = BasicRequestContext(
                    source: ApplicationRequestContextSource(channel: channel, logger: logger))
                var response = try await responder.respond(to: request, context: context)
                // Hummingbird adds it to the answers over HTTP/1.1.
                response.headers[.date] = HTTPDate.text(of: ProviderClock.system.now())
                return response
            }
        }
    }
}

import Delivery
import Foundation
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
package import Logging
import NIOCore
import NIOPosix
import NIOSSL
import PrivateFiles
import ProviderStore
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
        /// PEM files with the certificate's chain and its key; nil for HTTP/1.1 without TLS, on loopback only.
        package var tls: (certificate: String, key: String)?
        package var clock: ProviderClock
        /// The time for all attempts of one pass to send a notification.
        package var deadline = ProviderServerLimits.deadline
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

    private let settings: Settings
    private let tls: TLSConfiguration?
    private let store: any ProviderStore
    private let desk: CampaignDesk
    private let hooks: HookDesk
    private let clients: ProviderClients
    private let api: ProviderAPI
    private let logger: Logger
    private let listening: @Sendable (_ description: Description) async -> Void

    /// Opens the store.
    /// - Parameter listening: called with the server's address as soon as it accepts connections.
    package init(
        _ settings: Settings,
        logger: Logger,
        listening: @escaping @Sendable (_ description: Description) async -> Void,
    ) async throws {
        guard settings.tls != nil || Self.isLoopback(settings.host) else {
            throw StoreError(
                .unavailable,
                "Keys must not cross a network in the clear: give --certificate and --key, or listen on 127.0.0.1.")
        }
        self.settings = settings
        self.logger = logger
        self.listening = listening
        tls = try settings.tls.map { try Self.tls(certificate: $0.certificate, key: $0.key) }
        try Files.makeFolder(settings.folder)
        let store = try SQLiteProviderStore(folder: settings.folder, now: settings.clock.now)
        self.store = store
        let vault = try CredentialVault(folder: settings.folder)
        let apps = try await AppDirectory(store)
        clients = ProviderClients(vault, deadline: settings.deadline, logger: logger)
        let hooks = HookDesk(store, vault, clock: settings.clock, logger: logger)
        self.hooks = hooks
        desk = CampaignDesk(store, apps, clients, clock: settings.clock, logger: logger) { Task { await hooks.look() } }
        let key = try Self.administratorKey(in: settings.folder)
        api = ProviderAPI(
            store: store, apps: apps, vault: vault, desk: desk,
            access: ProviderAccess(administratorKeyDigest: AccessKey.digest(key), apps: apps), clock: settings.clock,
            metrics: settings.metrics,
            changes: ChangeRates(ProviderServerLimits.installationChanges), logger: logger)
    }

    /// Reads the administrator's key. Makes one at the first start.
    private static func administratorKey(in folder: String) throws -> String {
        let path = folder + "/" + administratorKeyFile
        if try !Files.exists(path) {
            _ = try Files.make(
                path, Array((AccessKey(prefix: AccessKey.administratorPrefix).text + "\n").utf8), replacing: false)
        }
        let bytes = try Files.read(try Files.open(path, O_RDONLY), upTo: 1024, of: path)
        let key = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard key.utf8.count >= 16 else {
            throw StoreError(.unreadable, "\(path) has no key: delete it, and the next start makes a new one.")
        }
        return key
    }

    private static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || host.hasPrefix("127.")
    }

    private static func tls(certificate: String, key: String) throws -> TLSConfiguration {
        do {
            var tls = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
            tls.minimumTLSVersion = .tlsv12
            // BoringSSL checks that the key belongs to the certificate when it has both.
            _ = try NIOSSLContext(configuration: tls)
            return tls
        } catch {
            throw StoreError(
                .unavailable, "\(certificate) and \(key) are not a certificate and its key in PEM: \(error)")
        }
    }

    /// Serves until the graceful shutdown. Then it waits for the answers to requests and notifications under way.
    package func run() async throws {
        let scheme = settings.tls == nil ? "http" : "https"
        let host = settings.host.contains(":") ? "[\(settings.host)]" : settings.host
        let application = Application(
            router: api.router(),
            server: try server(),
            configuration: ApplicationConfiguration(
                address: .hostname(settings.host, port: settings.port),
                availableConnectionsDelegate: MaximumAvailableConnections(ProviderServerLimits.openConnections)),
            onServerRunning: { [listening, desk, hooks, settings, logger] channel in
                await desk.look()
                await hooks.look()
                let description = Description(
                    url: "\(scheme)://\(host):\(channel.localAddress?.port ?? 0)",
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
            logger: quiet)
        do {
            try await application.run()
        } catch {
            await close()
            throw error
        }
        await close()
    }

    private func close() async {
        Description.remove(folder: settings.folder)
        await desk.close()
        // Waits ten seconds for the answers that are under way.
        await clients.shutDown()
        await desk.finished()
        await hooks.shutDown()
        await store.close()
    }

    /// A logger that omits Hummingbird's messages about its own life cycle.
    private var quiet: Logger {
        var logger = logger
        logger.logLevel = max(.warning, logger.logLevel)
        return logger
    }

    private func server() throws -> HTTPServerBuilder {
        let http = HTTP1Channel.Configuration(
            idleTimeout: ProviderServerLimits.idleTimeout,
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: ProviderServerLimits.headerBytes,
                maxHeaderListSize: ProviderServerLimits.headerBytes,
                maxHeaderFieldCount: ProviderServerLimits.headerFields))
        guard let tls else { return .http1(configuration: http) }
        let idle = Duration.nanoseconds(ProviderServerLimits.idleTimeout.nanoseconds)
        return try .http2Upgrade(
            tlsConfiguration: tls, configuration: .init(idleTimeout: idle, streamConfiguration: http))
    }
}

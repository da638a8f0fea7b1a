package import Delivery
import DeliveryLogFiles
import Foundation
package import Logging
import NIOCore
import NIOPosix
import Notifications
import Storage

extension CarillonService {
    /// Opens the data folder and every listener, and returns when all listeners accept connections. If the start
    /// fails, it has overwritten nothing.
    /// - Parameter wrap: lets tests replace the store by one that wraps it.
    package static func start(
        _ settings: Settings,
        logger: Logger,
        wrapping wrap: @Sendable (any Store) -> any Store = { $0 },
    ) async throws(ServiceError) -> CarillonService {
        try settings.checkClock()
        try settings.checkNode()
        try settings.checkAccept()
        try settings.checkWebPush()
        let folder = settings.folder
        var chosen = settings
        chosen.environments = settings.servedEnvironments
        if chosen.environments != settings.environments {
            logger.notice(
                "Apple's names for production mean development too, because unknown teams are accepted (--accept any)")
        }
        do throws(ServiceError) {
            return try await start(chosen, in: folder, logger, wrap)
        } catch {
            folder.removeIfTemporary()
            throw error
        }
    }

    private static func start(
        _ settings: Settings,
        in folder: DataFolder,
        _ logger: Logger,
        _ wrap: (any Store) -> any Store,
    ) async throws(ServiceError) -> CarillonService {
        let before = folder.before()
        try folder.prepare(for: settings.store)
        let lock = try DataFolderLock(folder)
        let isFresh = folder.isFresh
        // A service that was killed leaves its addresses. Remove them, so that commands wait for the new ones.
        folder.removeDescription()
        do throws(ServiceError) {
            return try await start(settings, in: folder, lock, logger, wrap)
        } catch {
            if isFresh { folder.removeHalfMade(before) }
            throw error
        }
    }

    private static func start(
        _ settings: Settings,
        in folder: DataFolder,
        _ lock: DataFolderLock,
        _ logger: Logger,
        _ wrap: (any Store) -> any Store,
    ) async throws(ServiceError) -> CarillonService {
        let metrics = ServiceMetrics()
        let clock = ServiceClock(isVirtual: settings.clock == .virtual) { .now() }
        let log = try ServiceLog(in: folder, settings, clock: clock, metrics: metrics, logger: logger)
        let store = wrap(
            try await settings.store.open(in: folder, settings, log: log.events, clock: clock, logger: logger))
        log.files.findTokens(in: store.knownRegistrations)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: settings.eventLoops ?? System.coreCount)
        do throws(ServiceError) {
            let base = try await ServiceBase(
                settings, folder, store: store, log: log, metrics: metrics, group: group, clock: clock, logger: logger)
            return try await CarillonService(base, lock)
        } catch {
            await store.close()
            try? await group.shutdownGracefully()  // Report the first error, not this one.
            throw error
        }
    }
}

extension ServiceDescription {
    init(
        _ base: ServiceBase,
        key: DevelopmentKey?,
        _ providers: ProviderParts,
        _ couriers: ListenerOpening.Listeners,
        _ webPush: WebPushParts?,
        _ management: ManagementOpening.Opened,
    ) {
        let (settings, folder) = (base.settings, base.folder)
        let addresses = base.byEnvironment {
            providers.addresses($0, courier: couriers.address($0), webPush: webPush?.url)
        }
        self.init(
            processID: getpid(), development: addresses[.development], production: addresses[.production],
            productionServerName: settings.ports == .apple ? PortPlan.productionNames[0] : nil,
            ca: settings.serverCertificate?.authority ?? folder.authorityFile,
            socket: settings.socketPath ?? folder.socketFile,
            management: management.tcp.map { listener in
                Management(
                    url: "http://\(listener.hostAndPort)",
                    keyFile: settings.managementKeyFile ?? folder.managementKeyFile,
                    key: settings.store == .memory ? management.key : nil)
            },
            managementTLS: management.tls?.hostAndPort, key: key,
            accept: settings.accept == .any ? AcceptChoice.any.rawValue : nil)
    }
}

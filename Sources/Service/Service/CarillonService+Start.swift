import BinaryGateway
import Connections
import CoreMetrics
import Courier
package import Delivery
import DeliveryLogFiles
import Foundation
import Journal
package import Logging
import Management
import NIOCore
import NIOPosix
import Peers
import NIOSSL
import Notifications
import PrometheusMetrics
import ProviderGateway
import Rates
import Trust
import VirtualDevices

/// The parts of a running service, which the start makes.
struct ServiceParts {
    var description: ServiceDescription
    var descriptionFile: DescriptionFile
    var folder: DataFolder
    var lock: DataFolderLock
    var budget: ConnectionBudget
    var settings: Settings
    var store: any Store
    var deliveryLog: FileDeliveryLog
    var group: MultiThreadedEventLoopGroup
    var certificate: ServerCertificate
    var delivery: Delivery
    var switchboard: LocalSwitchboard
    /// Nil if no other service uses the store.
    var sharedSwitchboard: SharedSwitchboard?
    /// Likewise.
    var peers: PeerParts?
    var broadcasts: Broadcasts
    var providerTokens: ProviderTokens
    var providerListeners: [Listener]
    var courierListeners: [Listener]
    var management: ManagementServer
    var managementListeners: [Listener]
    /// The tools for tests; nil if the service does not serve the development environment.
    var development: DevelopmentParts?
    var state: ServiceState
    /// Reads all metrics.
    var readMetrics: @Sendable () -> MetricsReading
    var history: MetricsHistory
    var logger: Logger
}

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
        let folder = settings.folder
        do throws(ServiceError) {
            return try await start(settings, in: folder, logger, wrap)
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
        let registry = PrometheusRegistry()
        let metrics = ServiceMetrics(factory: registry)
        let signal = LogSignal()
        let clock = ServiceClock(isVirtual: settings.clock == .virtual) { .now() }
        let deliveryLog = try openLog(folder, settings, clock, metrics, signal, logger)
        let journal = settings.environments.contains(.development) ? RequestJournal() : nil
        let log: any DeliveryLog = journal.map { JournalingLog($0, deliveryLog) } ?? deliveryLog
        let store = wrap(
            try await settings.store.open(in: folder, settings, log: log, clock: clock, logger: logger))
        deliveryLog.findTokens(in: store.knownRegistrations)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: settings.eventLoops ?? System.coreCount)
        let builder = ServiceBuilder(
            settings: settings, folder: folder, lock: lock, store: store, deliveryLog: deliveryLog, log: log,
            journal: journal, signal: signal,
            registry: registry, metrics: metrics, group: group, logger: logger, clock: clock)
        do throws(ServiceError) {
            return CarillonService(try await builder.build())
        } catch {
            await store.close()
            try? await group.shutdownGracefully()  // Report the first error, not this one.
            throw error
        }
    }

    /// Opens the delivery log. After each write it tells the log's readers, the metrics and the service's own log.
    private static func openLog(
        _ folder: DataFolder,
        _ settings: Settings,
        _ clock: ServiceClock,
        _ metrics: ServiceMetrics,
        _ signal: LogSignal,
        _ logger: Logger,
    ) throws(ServiceError) -> FileDeliveryLog {
        let watch = DeliveryLogWatch(logger)
        do {
            return try FileDeliveryLog(
                folder: folder.logFolder, limits: settings.deliveryLog, clock: { clock.time }
            ) { report in
                watch.note(report)
                metrics.note(report)
                signal.notify()
            }
        } catch {
            throw ServiceError(.dataFolder, error.description)
        }
    }
}

/// Makes the parts of the service and connects them.
private struct ServiceBuilder {
    let settings: Settings
    let folder: DataFolder
    let lock: DataFolderLock
    let store: any Store
    let deliveryLog: FileDeliveryLog
    /// Receives all events: the delivery log, or the journal, which passes them on to it.
    let log: any DeliveryLog
    /// The journal; nil if the service does not serve the development environment.
    let journal: RequestJournal?
    let signal: LogSignal
    let registry: PrometheusRegistry
    let metrics: ServiceMetrics
    let group: MultiThreadedEventLoopGroup
    let logger: Logger

    let clock: ServiceClock

    func build() async throws(ServiceError) -> ServiceParts {
        let secrets = try await SharedSecrets.load(
            from: store.secrets, under: settings.authority?.read(), isFirstStart: store.current.version == 0,
            tokenByteCount: settings.deviceTokenBytes, now: clock.machineTime)
        try folder.check(secrets.authority.rootPEM, of: settings.store)
        // Write the file only if it differs, so that a full disk does not prevent a start.
        if FileManager.default.contents(atPath: folder.authorityFile) != Data(secrets.authority.rootPEM.utf8) {
            try DataFolder.write(secrets.authority.rootPEM, to: folder.authorityFile, isPublic: true)
        }
        let key = try await FirstStart(accounts: store, folder: folder).prepare()
        let limitLog = LimitLog(logger) { [metrics] in metrics.limitExceeded($0) }
        let holds = store as? any DeviceHolds
        let fence = holds.map(HoldFence.init)
        let local = LocalSwitchboard(
            mailboxes: store, numbering: try await numbering(), log: log, limits: settings.delivery,
            limitExceeded: { limitLog.limitExceeded($0) }, fence: fence,
            clock: { [clock] in clock.moment })
        let shared = holds.flatMap { holds in fence.map { SharedSwitchboard(local, holds, $0, store) } }
        let switchboard: any Switchboard = shared ?? local
        let virtualDevices = settings.store == .memory ? nil : VirtualDeviceFile(folder)
        do throws(StoreError) {
            try await virtualDevices?.endEarlier(in: store, at: clock.time)
        } catch {
            // Go on, because the next start tries this again.
            logger.warning(
                "Virtual devices of an earlier start are still in the store", metadata: ["cause": "\(error.cause)"])
        }
        let broadcasts = Broadcasts(
            channels: store.broadcastChannels, news: store as? any ChannelNews, accounts: store, log: log,
            limits: settings.channels, limitExceeded: { limitLog.limitExceeded($0) },
            sent: { [metrics] in metrics.broadcastSent(to: $0) }, fence: fence, clock: clock)
        shared?.use(broadcasts)
        let development = journal.map {
            DevelopmentParts(
                journal: $0, keep: settings.keptRequests, store: store, switchboard: switchboard,
                broadcasts: broadcasts, tokenKeys: secrets.tokenKeys.keys, clock: clock,
                tokensByService: settings.tokensByService, file: virtualDevices)
        }
        let devices = development?.devices
        var random = SystemRandomNumberGenerator()
        let origin = OfferOrigin.random(using: &random)
        let peers = try await openPeers(shared, broadcasts, origin, secrets)
        let delivery = Delivery(
            accounts: store, registrations: store, mailboxes: store, switchboard: switchboard, feedback: store,
            origin: origin, log: log, limits: settings.delivery,
            limitExceeded: { limitLog.limitExceeded($0) }, isExpired: { devices?.isExpired($0) ?? false }, clock: clock)
        let tokens = ProviderTokens(
            verifier: ProviderTokenVerifier(conformance: settings.conformance, using: &random), accounts: store,
            limitLog: limitLog)
        let names =
            settings.hostnames + settings.ports.serverNames
            + (Self.isNameForClients(settings.host) ? [settings.host] : [])
        let certificate = try ServerCertificate(
            settings.serverCertificate.map { .files($0) } ?? .authority(secrets.authority, names: names),
            now: clock.machineTime)
        let activations = Activations(invitations: store)
        var description = ServiceDescription(
            processID: getpid(), ca: settings.serverCertificate?.authority ?? folder.authorityFile,
            socket: settings.socketPath ?? folder.socketFile, key: key)
        if settings.ports == .apple { description.productionServerName = PortPlan.productionNames[0] }
        let gateways = settings.environments.map { environment in
            ProviderGateway(
                environment: environment, conformance: settings.conformance,
                environmentKeyReason: settings.environmentKeyReason, answerDetail: settings.answerDetail,
                authority: secrets.authority,
                tokens: tokens, tokenKeys: secrets.tokenKeys.keys, accounts: store, delivery: delivery,
                broadcasts: broadcasts, deliveryLog: log, names: environment == .development ? development?.names : nil,
                tokensByService: settings.tokensByService,
                watch: environment == .development ? development?.watch : nil, limits: settings.provider,
                limitLog: limitLog, clock: clock)
        }
        development?.setGateway(gateways.first { $0.environment == .development })
        let couriers = settings.environments.map { environment in
            Courier(
                environment: environment, authority: secrets.authority, tokenKeys: secrets.tokenKeys.keys,
                accounts: store,
                registrations: store, switchboard: switchboard, broadcasts: broadcasts, activations: activations,
                fence: fence, limits: settings.courier, limitLog: limitLog, clock: clock)
        }
        let budget = ConnectionBudget(limit: OpenFiles.forConnections)
        let providerConnects = ConnectGuard(
            .providerConnectRate, settings.providerConnects, budget: budget, log: limitLog)
        let opening = ListenerOpening(settings: settings, certificate: certificate, group: group, logger: logger)
        let providerListeners = try await opening.open(
            .provider, Dictionary(uniqueKeysWithValues: zip(settings.environments, gateways)), providerConnects)
        let channelGateways = Dictionary(
            uniqueKeysWithValues: zip(settings.environments, gateways.map { ChannelGateway(provider: $0) }))
        let binaryListeners = try await opening.openBinary(
            .binary, binaryGateways(secrets, delivery, development), channels: channelGateways, providerConnects)
        let feedbackListeners = try await opening.openBinary(
            .feedback, feedbackServices(secrets, delivery),
            channels: settings.ports.hasChannels(.feedback) ? channelGateways : [:], providerConnects)
        let courierListeners = try await opening.open(
            .courier, Dictionary(uniqueKeysWithValues: zip(settings.environments, couriers)),
            ConnectGuard(.courierConnectRate, settings.courierConnects, budget: budget, log: limitLog))
        for environment in settings.environments {
            let addresses = ServiceDescription.Addresses(
                provider: providerListeners.address(environment),
                binary: binaryListeners.address(environment),
                feedback: feedbackListeners.address(environment),
                courier: courierListeners.address(environment),
                channels: (settings.ports.channels(environment) == .feedback ? feedbackListeners : binaryListeners)
                    .address(environment),
            )
            switch environment {
            case .development: description.development = addresses
            case .production: description.production = addresses
            }
        }
        let state = ServiceState(store: store)
        let history = MetricsHistory()
        let readMetrics = metricsReader(local, delivery)
        // Take the first reading now, because each sample is the difference between two readings.
        history.add(readMetrics())
        let management = try await ManagementOpening(
            settings: settings, folder: folder, certificate: certificate,
            connects: ConnectGuard(.managementConnectRate, settings.managementConnects, budget: budget, log: limitLog),
            logger: logger
        ).open(managementParts(secrets, switchboard, local, delivery, broadcasts, state, history, development, peers))
        description.management = management.tcp.map { listener in
            ServiceDescription.Management(
                url: "http://\(listener.hostAndPort)", keyFile: folder.managementKeyFile,
                key: settings.store == .memory ? management.key : nil)
        }
        description.managementTLS = management.tls?.hostAndPort
        let descriptionFile = DescriptionFile(description, in: folder, logger)
        development?.announce(description)
        return ServiceParts(
            description: description, descriptionFile: descriptionFile, folder: folder, lock: lock, budget: budget,
            settings: settings, store: store,
            deliveryLog: deliveryLog, group: group, certificate: certificate, delivery: delivery,
            switchboard: local, sharedSwitchboard: shared, peers: peers, broadcasts: broadcasts, providerTokens: tokens,
            providerListeners: providerListeners.all + binaryListeners.all + feedbackListeners.all,
            courierListeners: courierListeners.all, management: management.server,
            managementListeners: management.listeners, development: development, state: state,
            readMetrics: readMetrics, history: history, logger: logger)
    }

    /// - Returns: nil if no other service uses the store.
    private func openPeers(
        _ switchboard: SharedSwitchboard?,
        _ broadcasts: Broadcasts,
        _ origin: OfferOrigin,
        _ secrets: SharedSecrets,
    ) async throws(ServiceError) -> PeerParts? {
        guard let switchboard, let cluster = store as? any ClusterNodes else { return nil }
        let parts = try await PeerOpening(
            settings: settings, authority: secrets.authority, clock: clock, group: group, logger: logger
        ).open(cluster, origin: origin)
        parts.peers.report(to: switchboard)
        switchboard.use(parts.peers)
        broadcasts.use(parts.peers)
        return parts
    }

    private func metricsReader(
        _ switchboard: LocalSwitchboard,
        _ delivery: Delivery,
    ) -> @Sendable () -> MetricsReading {
        let (metrics, registry, clock) = (metrics, registry, clock)
        return {
            metrics.sample(connectedDevices: switchboard.connectedDevices, pendingStores: delivery.pendingStores)
            return MetricsReading(
                time: clock.machineTime, values: registry.values, histograms: registry.histograms)
        }
    }

    private func numbering() async throws(ServiceError) -> AttemptNumbering {
        do throws(StoreError) {
            return try await .load(from: store)
        } catch {
            throw ServiceError(.store, error.cause)
        }
    }

    private func managementParts(
        _ secrets: SharedSecrets,
        _ switchboard: any Switchboard,
        _ local: LocalSwitchboard,
        _ delivery: Delivery,
        _ broadcasts: Broadcasts,
        _ state: ServiceState,
        _ history: MetricsHistory,
        _ development: DevelopmentParts?,
        _ peers: PeerParts?,
    ) -> ManagementParts {
        let (metrics, registry, tokenKeys, clock) = (metrics, registry, secrets.tokenKeys, clock)
        let (authority, accounts): (_, any Accounts) = (secrets.authority, store)
        let names = DeviceTokenNames { tokenKeys.keys.current }
        let source = DeliveryLogSource(
            folder: folder.logFolder, token: { names.token($0, key: $1) }, signal: signal,
            flush: { [deliveryLog] in await deliveryLog.flush() })
        peers?.peers.answerLogQuestions { id in
            // A log that cannot be read is as one without entries.
            (try? await source.lines(of: id, limit: ManagementLimits.entriesOfOne)) ?? []
        }
        peers?.peers.answerDeviceQuestions { local.connected(among: $0) }
        return ManagementParts(
            accounts: store, invitations: store, registrations: store, switchboard: switchboard,
            broadcasts: broadcasts, tokenKeys: tokenKeys.keys, authority: authority,
            log: source,
            rotateTokenKey: { try await tokenKeys.rotate().rawValue },
            revocationList: { try authority.revocationList(of: accounts.current, at: clock.machineTime) },
            metrics: {
                metrics.sample(connectedDevices: local.connectedDevices, pendingStores: delivery.pendingStores)
                return registry.text()
            },
            unreadiness: { await state.unreadiness() }, started: clock.machineTime,
            history: { history.samples(after: $0) }, clock: clock,
            rehearsals: development?.rehearsals,
            advance: { [deliveryLog] duration throws(ServiceClock.AdvanceError) in
                // Write the earlier events first, with the times that they have.
                await deliveryLog.flush()
                let time = try clock.advance(by: duration)
                // Remove old files before writing anything new, because a file's age counts from its last event.
                await deliveryLog.removeOld()
                local.tick()
                await delivery.catchUp()
                await deliveryLog.flush()
                return time
            }, testing: development?.forManagement, cluster: store as? any ClusterNodes,
            otherLogs: otherLogs(peers), otherDevices: otherDevices(peers))
    }

    /// - Returns: nil if no other service uses the store.
    private func otherLogs(_ peers: PeerParts?) -> (@Sendable (NotificationID) async -> OtherLogs)? {
        guard let peers, let cluster = store as? any ClusterNodes else { return nil }
        return { await peers.otherLogs(of: $0, cluster) }
    }

    /// Likewise.
    private func otherDevices(_ peers: PeerParts?) -> OtherDevices.Question? {
        guard let peers, let cluster = store as? any ClusterNodes else { return nil }
        return { try await peers.otherDevices(among: $0, leavingOut: $1, cluster) }
    }

    private func binaryGateways(
        _ secrets: SharedSecrets,
        _ delivery: Delivery,
        _ development: DevelopmentParts?,
    ) -> [Environment: BinaryGateway] {
        certifiedServices(secrets) { certificates in
            BinaryGateway(
                certificates: certificates, conformance: settings.conformance, tokenKeys: secrets.tokenKeys.keys,
                delivery: delivery, deliveryLog: log,
                names: certificates.environment == .development ? development?.names : nil,
                tokensByService: settings.tokensByService,
                watch: certificates.environment == .development ? development?.watch : nil, limits: settings.binary)
        }
    }

    private func feedbackServices(
        _ secrets: SharedSecrets,
        _ delivery: Delivery,
    ) -> [Environment: FeedbackService] {
        certifiedServices(secrets) { certificates in
            FeedbackService(certificates: certificates, feedback: store, delivery: delivery, limits: settings.binary)
        }
    }

    private func certifiedServices<Service: CertifiedService>(
        _ secrets: SharedSecrets,
        _ make: (ProviderCertificates) -> Service,
    ) -> [Environment: Service] {
        let services = settings.environments.map { environment in
            make(
                ProviderCertificates(
                    environment: environment, authority: secrets.authority, accounts: store,
                    clock: { [clock] in clock.machineTime }))
        }
        return Dictionary(uniqueKeysWithValues: zip(settings.environments, services))
    }

    /// Whether a certificate can name the host. An address that stands for all addresses of a machine is not a name.
    private static func isNameForClients(_ host: String) -> Bool { host != "0.0.0.0" && host != "::" }
}

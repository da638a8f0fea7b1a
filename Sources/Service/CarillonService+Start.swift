import BinaryGateway
import Connections
import CoreMetrics
import Courier
import Delivery
import DeliveryLogFiles
import Foundation
import HTTP2
package import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Notifications
import PrometheusMetrics
import ProviderGateway
import SQLiteStore
import Trust

/// Everything a running service consists of.
struct ServiceParts {
    var description: ServiceDescription
    var folder: DataFolder
    var lock: DataFolderLock
    var budget: ConnectionBudget
    var settings: Settings
    var store: SQLiteStore
    var deliveryLog: FileDeliveryLog
    var metricsEndpoint: MetricsEndpoint?
    var group: MultiThreadedEventLoopGroup
    var certificate: ServerCertificate
    var delivery: Delivery
    var switchboard: LocalSwitchboard
    var providerTokens: ProviderTokens
    var providerListeners: [Listener]
    var courierListeners: [Listener]
    var administration: [Listener]
    var logger: Logger
}

extension CarillonService {
    /// Opens the data folder and every listener; returns once all of them accept connections.
    ///
    /// Nothing that is there already is overwritten when it fails.
    package static func start(_ settings: Settings, logger: Logger) async throws(ServiceError) -> CarillonService {
        let folder = DataFolder(settings.dataFolder)
        try folder.prepare()
        let lock = try DataFolderLock(folder)
        let registry = settings.metricsPort.map { _ in PrometheusRegistry() }
        let metrics = ServiceMetrics(factory: registry ?? NOOPMetricsHandler.instance)
        let (deliveryLog, store) = try await open(folder, settings, metrics, logger)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: settings.eventLoops ?? System.coreCount)
        let builder = ServiceBuilder(
            settings: settings, folder: folder, lock: lock, store: store, deliveryLog: deliveryLog,
            registry: registry, metrics: metrics, group: group, logger: logger)
        do throws(ServiceError) {
            return CarillonService(try await builder.build())
        } catch {
            await store.close()
            try? await group.shutdownGracefully()  // The first error is the one to tell.
            throw error
        }
    }

    /// The store, which tells the delivery log what it throws out, and the log, which finds device tokens in the store.
    private static func open(
        _ folder: DataFolder,
        _ settings: Settings,
        _ metrics: ServiceMetrics,
        _ logger: Logger,
    ) async throws(ServiceError) -> (FileDeliveryLog, SQLiteStore) {
        let watch = DeliveryLogWatch(logger)
        let log: FileDeliveryLog
        do {
            log = try FileDeliveryLog(
                folder: folder.logFolder, limits: settings.deliveryLog, clock: { .now() }
            ) { report in
                watch.note(report)
                metrics.note(report)
            }
        } catch {
            throw ServiceError(.dataFolder, error.description)
        }
        do {
            let store = try await SQLiteStore.open(folder: folder.path, log: log, clock: { .now() })
            log.findTokens(in: store.knownRegistrations)
            return (log, store)
        } catch {
            throw ServiceError(.store, error.cause)
        }
    }
}

extension Limit {
    /// What `Delivery` turns away by.
    fileprivate init(_ limit: DeliveryLimit) {
        self =
            switch limit {
            case .pendingStores: .pendingStores
            case .unacknowledged: .unacknowledged
            }
    }
}

/// Puts the parts together.
private struct ServiceBuilder {
    let settings: Settings
    let folder: DataFolder
    let lock: DataFolderLock
    let store: SQLiteStore
    let deliveryLog: FileDeliveryLog
    let registry: PrometheusRegistry?
    let metrics: ServiceMetrics
    let group: MultiThreadedEventLoopGroup
    let logger: Logger

    private let clock: @Sendable () -> Timestamp = { .now() }

    func build() async throws(ServiceError) -> ServiceParts {
        let secrets = try await SharedSecrets.load(
            from: store.secrets, under: settings.authority?.read(), isFirstStart: store.current.version == 0,
            now: clock())
        // Only where it differs, so that a full disk does not keep a service from starting.
        if FileManager.default.contents(atPath: folder.authorityFile) != Data(secrets.authority.rootPEM.utf8) {
            try DataFolder.write(secrets.authority.rootPEM, to: folder.authorityFile, isPublic: true)
        }
        let key = try await FirstStart(accounts: store, folder: folder).prepare()
        let limitLog = LimitLog(logger) { [metrics] in metrics.struck($0) }
        let switchboard = LocalSwitchboard(
            mailboxes: store, log: deliveryLog, limits: settings.delivery, struck: { limitLog.struck(Limit($0)) },
            clock: { .now() })
        let delivery = Delivery(
            registrations: store, mailboxes: store, switchboard: switchboard, feedback: store, log: deliveryLog,
            limits: settings.delivery, struck: { limitLog.struck(Limit($0)) }, clock: { .now() })
        var random = SystemRandomNumberGenerator()
        let tokens = ProviderTokens(
            verifier: ProviderTokenVerifier(conformance: settings.conformance, using: &random), accounts: store,
            limitLog: limitLog)
        let names =
            settings.hostnames + settings.ports.serverNames
            + (Self.isNameForClients(settings.host) ? [settings.host] : [])
        let certificate = try ServerCertificate(
            settings.serverCertificate.map { .files($0) } ?? .authority(secrets.authority, names: names), now: clock())
        let activations = Activations(invitations: store)
        var description = ServiceDescription(
            processID: getpid(), ca: settings.serverCertificate?.authority ?? folder.authorityFile,
            socket: settings.socketPath ?? folder.socketFile, key: key)
        if settings.ports == .apple { description.productionServerName = PortPlan.productionNames[0] }
        let gateways = settings.environments.map { environment in
            ProviderGateway(
                environment: environment, conformance: settings.conformance,
                environmentKeyReason: settings.environmentKeyReason, authority: secrets.authority,
                tokens: tokens, tokenKeys: secrets.tokenKeys.keys, accounts: store, delivery: delivery,
                deliveryLog: deliveryLog, limits: settings.provider, limitLog: limitLog, clock: clock)
        }
        let couriers = settings.environments.map { environment in
            Courier(
                environment: environment, authority: secrets.authority, tokenKeys: secrets.tokenKeys.keys,
                accounts: store,
                registrations: store, switchboard: switchboard, activations: activations, limits: settings.courier,
                limitLog: limitLog, clock: clock)
        }
        let budget = ConnectionBudget(limit: OpenFiles.forConnections)
        let providerConnects = ConnectGuard(
            .providerConnectRate, settings.providerConnects, budget: budget, log: limitLog)
        let opening = ListenerOpening(settings: settings, certificate: certificate, group: group, logger: logger)
        let providerListeners = try await opening.open(
            .provider, Dictionary(uniqueKeysWithValues: zip(settings.environments, gateways)), providerConnects)
        let binaryListeners = try await opening.openBinary(
            .binary, binaryGateways(secrets, delivery), providerConnects)
        let feedbackListeners = try await opening.openBinary(
            .feedback, feedbackServices(secrets, delivery), providerConnects)
        let courierListeners = try await opening.open(
            .courier, Dictionary(uniqueKeysWithValues: zip(settings.environments, couriers)),
            ConnectGuard(.courierConnectRate, settings.courierConnects, budget: budget, log: limitLog))
        for environment in settings.environments {
            let addresses = ServiceDescription.Addresses(
                provider: providerListeners.address(environment),
                binary: binaryListeners.address(environment),
                feedback: feedbackListeners.address(environment),
                courier: courierListeners.address(environment),
            )
            switch environment {
            case .development: description.development = addresses
            case .production: description.production = addresses
            }
        }
        let administration = Administration(
            accounts: store, authority: secrets.authority, invitations: store,
            devices: DeviceRevocation(accounts: store, registrations: store, switchboard: switchboard),
            tokenKeys: secrets.tokenKeys, clock: clock)
        let endpoint = try await openMetrics(switchboard, delivery)
        description.metrics = endpoint?.address
        var administrationListeners = [try await open(administration, at: description.socket)]
        if let address = settings.administration {
            let listener = try await opening.openOne(
                .always(RemoteAdministration(administration)), "administration", host: address.host, address.port,
                providerConnects)
            description.administration = listener.hostAndPort
            administrationListeners.append(listener)
        }
        try description.write(to: folder)
        return ServiceParts(
            description: description, folder: folder, lock: lock, budget: budget, settings: settings, store: store,
            deliveryLog: deliveryLog, metricsEndpoint: endpoint, group: group, certificate: certificate,
            delivery: delivery, switchboard: switchboard,
            providerTokens: tokens,
            providerListeners: providerListeners.all + binaryListeners.all + feedbackListeners.all,
            courierListeners: courierListeners.all,
            administration: administrationListeners, logger: logger)
    }

    private func binaryGateways(
        _ secrets: SharedSecrets,
        _ delivery: Delivery,
    ) -> [Environment: any CertifiedService] {
        certifiedServices(secrets) { certificates in
            BinaryGateway(
                certificates: certificates, conformance: settings.conformance, tokenKeys: secrets.tokenKeys.keys,
                delivery: delivery, limits: settings.binary)
        }
    }

    private func feedbackServices(
        _ secrets: SharedSecrets,
        _ delivery: Delivery,
    ) -> [Environment: any CertifiedService] {
        certifiedServices(secrets) { certificates in
            FeedbackService(certificates: certificates, feedback: store, delivery: delivery, limits: settings.binary)
        }
    }

    private func certifiedServices(
        _ secrets: SharedSecrets,
        _ make: (ProviderCertificates) -> any CertifiedService,
    ) -> [Environment: any CertifiedService] {
        let services = settings.environments.map { environment in
            make(
                ProviderCertificates(
                    environment: environment, authority: secrets.authority, accounts: store, clock: clock))
        }
        return Dictionary(uniqueKeysWithValues: zip(settings.environments, services))
    }

    /// An address that stands for all of a machine's is no name for a certificate.
    private static func isNameForClients(_ host: String) -> Bool { host != "0.0.0.0" && host != "::" }

    private func openMetrics(
        _ switchboard: LocalSwitchboard,
        _ delivery: Delivery,
    ) async throws(ServiceError) -> MetricsEndpoint? {
        guard let registry, let port = settings.metricsPort else { return nil }
        let metrics = metrics
        do {
            return try await MetricsEndpoint.bind(host: settings.metricsHost, port: port, group: group) {
                metrics.sample(
                    connectedDevices: switchboard.connectedDevices, pendingStores: delivery.pendingStores)
                return registry.text()
            }
        } catch {
            throw ServiceError(
                .cannotListen,
                "The metrics port \(port) on \(settings.metricsHost) cannot be opened "
                    + "(\(ConnectionFailure.cause(of: error))); \(ListenerOpening.remedy(error))")
        }
    }

    /// Removes the socket of a service that was killed, and nothing else.
    private func removeAbandonedSocket(_ path: String) async throws(ServiceError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw ServiceError(
                .cannotListen, "\(path) is there and no socket; name another place for the socket with --socket.")
        }
        // Whoever answers is alive; whoever does not has left it behind.
        if let client = try? await HTTP2Client.connect(to: .unix(path: path), group: group) {
            await client.close()
            throw ServiceError(
                .alreadyRunning, "Another service answers at \(path); name another place for the socket with --socket.")
        }
        unlink(path)
    }

    private func open(
        _ administration: Administration,
        at path: String,
    ) async throws(ServiceError) -> Listener {
        // The system's limit, with the zero at the end (sys/un.h).
        let limit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
        guard path.utf8.count <= limit else {
            throw ServiceError(
                .cannotListen,
                "The socket's path \(path) has \(path.utf8.count) bytes, and the system allows \(limit); "
                    + "name a shorter one with --socket or CARILLON_SOCKET, or a data folder with a shorter path.")
        }
        try await removeAbandonedSocket(path)
        do {
            let listener = try await HTTP2Listener.bind(
                .always(administration), to: .unix(path: path), tls: nil, group: group, logger: logger)
            chmod(path, 0o600)
            return listener
        } catch {
            let reason = ConnectionFailure.cause(of: error)
            throw ServiceError(.cannotListen, "The socket \(path) cannot be opened (\(reason)).")
        }
    }
}

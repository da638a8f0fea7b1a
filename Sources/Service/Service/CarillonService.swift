import Connections
import Courier
import Delivery
import DeliveryLogFiles
import Foundation
import Logging
import Management
import NIOCore
import NIOPosix
import Peers
package import Notifications
import ProviderAPI
import ServiceLifecycle
import Trust
import Upstream
import VirtualDevices

/// The whole service in one process.
package final class CarillonService: Sendable {
    package let description: ServiceDescription
    package var folder: DataFolder { base.folder }

    private let base: ServiceBase
    private let lock: DataFolderLock
    private let lines: LineParts
    /// The tools for tests; nil if the service does not serve the development environment.
    private let development: DevelopmentParts?
    /// Nil if no other service uses the store.
    private let peers: PeerParts?
    private let delivery: Delivery
    private let certificate: ServerCertificate
    private let providers: ProviderParts
    private let grants: GrantParts
    private let couriers: ListenerOpening.Listeners
    /// Nil if the service has no Web Push.
    private let webPush: WebPushParts?
    private let management: ManagementOpening.Opened
    private let descriptionFile: DescriptionFile
    private let state: ServiceState
    private let history: MetricsHistory

    /// Makes the parts in the order in which they need each other. When this returns, all listeners accept
    /// connections.
    init(_ base: ServiceBase, _ lock: DataFolderLock) async throws(ServiceError) {
        guard base.settings.accept == .known || base.store.current.upstreams.isEmpty else {
            throw ServiceError(
                .badSetting,
                "The setting accept is any, and apps of this store have upstreams: what anybody sends must not be forwarded. "
                    + "Use another data folder, or remove the upstreams.")
        }
        let key = try await Self.prepareAccounts(base)
        var random = SystemRandomNumberGenerator()
        let origin = OfferOrigin.random(using: &random)
        let lines = try await LineParts(base)
        let certificate = try base.makeServerCertificate()
        let development = await DevelopmentParts.make(base, lines, certificate)
        let peers = try await PeerOpening(base: base).open(lines, origin: origin)
        let delivery = Delivery(base, lines, origin: origin, development)

        let planning = HandshakePlanning(certificate: certificate, development: development, logger: base.logger)
        let opening = ListenerOpening(base: base, certificate: certificate, planning: planning)
        let grants = try await GrantParts(base)
        let providers = try await ProviderParts(
            base, delivery: delivery, broadcasts: lines.broadcasts, grants: grants, development: development,
            opening: opening)
        development?.setProviderAPI(providers.apis[.development])
        let webPush = try await WebPushParts.open(
            base, planning, delivery, development, PhoneParts(base, grants, providers))
        let endpoints = WebPushEndpoints(base.store, key: grants.endpointKey)
        endpoints.origin = webPush?.origin
        if webPush != nil { development?.useWebPush(endpoints) }
        let couriers = try await opening.openCouriers(lines, webPush: endpoints)

        let (state, log, clock) = (ServiceState(store: base.store), base.logSource(development), base.clock)
        let metrics = MetricsSource(base.metrics, lines, delivery, peers)
        let history = MetricsHistory { MetricsReading(metrics.read(), at: clock.machineTime) }
        peers?.answerQuestions(log, lines.local)
        let management = try await ManagementOpening(base: base, certificate: certificate).open(
            ManagementParts(
                base, lines: lines, delivery: delivery, grants: grants, forwarder: providers.forwarder,
                development: development, peers: peers,
                state: state, metrics: metrics, history: history, log: log))

        let description = ServiceDescription(base, key: key, providers, couriers, webPush, management)
        descriptionFile = DescriptionFile(description, in: base.folder, base.logger)
        development?.announce(description)
        if base.settings.accept == .any {
            base.logger.warning(
                "Unknown teams, keys, topics and device tokens are accepted, for tests (--accept any)",
                metadata: ["besides this machine": "\(base.settings.acceptAnyFrom.map(\.description))"])
        }
        (self.description, self.base, self.lock, self.lines) = (description, base, lock, lines)
        (self.development, self.peers, self.delivery, self.certificate) = (development, peers, delivery, certificate)
        (self.providers, self.couriers, self.management) = (providers, couriers, management)
        self.webPush = webPush
        self.grants = grants
        (self.state, self.history) = (state, history)
        state.serve()
    }

    /// Makes what is missing of the accounts, and returns the key that `carillon send` signs with.
    private static func prepareAccounts(
        _ base: ServiceBase
    ) async throws(ServiceError) -> ServiceDescription.DevelopmentKey? {
        guard let instance = base.settings.instance else {
            return try await FirstStart(accounts: base.store, folder: base.folder).prepare()
        }
        return try await InstanceStart(
            accounts: base.store, folder: base.folder, vault: UpstreamVault(base.secrets.credentialSeal),
            instance: instance
        ).prepare()
    }

    /// Serves until the task is cancelled or a graceful shutdown begins. Then it delivers or stores every
    /// notification that it has accepted, and returns.
    package func run() async {
        await withTaskGroup { group in
            group.addTask { await self.delivery.run() }
            group.addTask { await self.lines.local.run() }
            group.addTask { await self.lines.shared?.run() }
            group.addTask { await self.lines.broadcasts.run() }
            group.addTask { await self.watchCluster() }
            group.addTask { await self.providers.tokens.run() }
            group.addTask { await self.providers.forwarder.run(self.base.store) }
            group.addTask { await self.providers.heldSender.run() }
            group.addTask { await self.grants.meter.run() }
            group.addTask { await self.grants.upkeep.run() }
            group.addTask { await self.development?.devices.run() }
            group.addTask { await self.renewCertificates() }
            group.addTask { await self.giveMemoryBack() }
            group.addTask { await self.watchStore() }
            group.addTask { await self.descriptionFile.run() }
            group.addTask { await self.keepHistory() }
            // Wait for a shutdown here. Then end the other tasks.
            try? await gracefulShutdownOrCancellation()
            await shutDown()
            group.cancelAll()
        }
        await base.store.close()
        await base.log.files.flush()
        // This can fail only if the threads have ended already.
        try? await base.group.shutdownGracefully()
        folder.removeIfTemporary()
    }

    /// Returns the number of connected devices that receive the broadcasts of a channel.
    package func subscribers(of channel: ChannelID, of bundleID: BundleID, in environment: Environment) -> Int {
        guard let app = base.store.current.apps[bundleID] else { return 0 }
        let list = ChannelList(environment: environment, app: app.id)
        return lines.broadcasts.connectedSubscribers(of: ChannelKey(list: list, id: channel))
    }

    /// Runs a task on every event loop, and returns when all have run it. Tests use this to show that no event loop
    /// hangs.
    package func visitEventLoops() async {
        for loop in base.group.makeIterator() { try? await loop.submit {}.get() }
    }

    /// Ends the parts in an order that loses nothing. First providers get their answers, while devices can still
    /// acknowledge. Then notifications without an acknowledgement go to their mailboxes. The management API ends
    /// last.
    private func shutDown() async {
        base.logger.info("Shutting down")
        state.shutDown()
        descriptionFile.remove()
        // Use one time limit for both, so that the whole shutdown ends in time.
        let end = NIODeadline.now() + base.settings.shutdownTimeout
        await Self.shutDown(
            providers.listeners + (webPush?.listeners ?? []), within: base.settings.shutdownTimeout)
        await webPush?.close()
        await providers.forwarder.shutDown()
        await Self.shutDown(couriers.all, within: max(.zero, end - .now()))
        if let shared = lines.shared {
            shared.disconnectAll(because: .shutdown)
        } else {
            lines.local.disconnectAll(because: .shutdown)
        }
        await delivery.drain()
        await lines.broadcasts.flushMarks()
        peers?.peers.close()
        if let listener = peers?.listener { await listener.shutDown(within: .seconds(1)) }
        management.server.endStreams()
        await Self.shutDown(management.listeners, within: .seconds(1))
        await management.server.close()
        unlink(description.socket)
    }

    private func watchCluster() async {
        guard let peers else { return }
        await ClusterWatch(
            cluster: peers.cluster, peer: peers.address, drain: { await self.drain(over: $0) },
            update: { peers.peers.update($0) }
        ).run()
    }

    /// Sends all clients to other nodes, one after the other: providers get GOAWAY, devices the last line of their
    /// streams. New clients are not accepted any more.
    package func drain(over time: Duration) async {
        base.logger.info("Draining the node", metadata: ["over": "\(time)"])
        state.drain()
        let (seconds, attoseconds) = time.components
        let amount = TimeAmount.seconds(seconds) + .nanoseconds(attoseconds / 1_000_000_000)
        let limit = base.settings.shutdownTimeout
        await withDiscardingTaskGroup { group in
            for listener in providers.listeners + (webPush?.listeners ?? []) + couriers.all {
                group.addTask { await listener.drain(over: amount, within: limit) }
            }
        }
        base.logger.info("The node is drained")
    }

    private static func shutDown(_ listeners: [Listener], within limit: TimeAmount) async {
        await withDiscardingTaskGroup { group in
            for listener in listeners { group.addTask { await listener.shutDown(within: limit) } }
        }
    }

    /// Renews the listeners' certificate if needed. Open connections keep theirs.
    package func renewCertificate(now: Timestamp) throws {
        try certificate.renew(now: now)
        try peers?.certificate?.renew(now: now)
    }

    /// Adds a sample of the metrics to the history.
    package func sampleMetrics() { history.sample() }

    private func keepHistory() async {
        // The sleep fails only if the task is cancelled, which ends the loop.
        while (try? await Task.sleep(for: MetricsHistory.interval)) != nil { sampleMetrics() }
    }

    private func watchStore() async {
        var watch = StoreWatch(base.store, base.logger)
        await watch.run()
    }

    private func giveMemoryBack() async {
        var relief = MemoryRelief()
        var idle = IdleRelief(used: IdleRelief.used)
        while !Task.isCancelled {
            // The sleep fails only if the task is cancelled, which ends the loop.
            try? await Task.sleep(for: MemoryRelief.interval)
            if relief.isDue(openConnections: base.budget.openConnections) { MemoryRelief.giveBack() }
            if idle.isDue(used: IdleRelief.used) { IdleRelief.giveBack() }
        }
    }

    private func renewCertificates() async {
        while !Task.isCancelled {
            do {
                try await Task.sleep(for: ServerCertificate.checkEvery)
                try renewCertificate(now: .now())
            } catch is CancellationError {
                return
            } catch {
                base.logger.error(
                    "The server's certificate was not renewed", metadata: ["cause": "\(DataFolder.reason(error))"])
            }
        }
    }
}

/// Returns when a graceful shutdown begins, or throws when the task is cancelled.
private func gracefulShutdownOrCancellation() async throws {
    try await gracefulShutdown()
}

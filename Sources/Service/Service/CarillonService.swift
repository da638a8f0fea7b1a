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
import ProviderGateway
import ServiceLifecycle
import Trust
import VirtualDevices

/// The whole service in one process.
package final class CarillonService: Sendable {
    package let description: ServiceDescription
    package let folder: DataFolder

    private let lock: DataFolderLock
    private let budget: ConnectionBudget
    private let settings: Settings
    private let store: any Store
    private let deliveryLog: FileDeliveryLog
    private let group: MultiThreadedEventLoopGroup
    private let certificate: ServerCertificate
    private let delivery: Delivery
    private let switchboard: LocalSwitchboard
    private let sharedSwitchboard: SharedSwitchboard?
    private let peers: PeerParts?
    private let broadcasts: Broadcasts
    private let descriptionFile: DescriptionFile
    private let providerTokens: ProviderTokens
    private let providerListeners: [Listener]
    private let courierListeners: [Listener]
    private let management: ManagementServer
    private let managementListeners: [Listener]
    private let development: DevelopmentParts?
    private let state: ServiceState
    private let readMetrics: @Sendable () -> MetricsReading
    private let history: MetricsHistory
    private let logger: Logger

    init(_ parts: ServiceParts) {
        description = parts.description
        descriptionFile = parts.descriptionFile
        folder = parts.folder
        lock = parts.lock
        budget = parts.budget
        settings = parts.settings
        store = parts.store
        deliveryLog = parts.deliveryLog
        group = parts.group
        certificate = parts.certificate
        delivery = parts.delivery
        switchboard = parts.switchboard
        sharedSwitchboard = parts.sharedSwitchboard
        peers = parts.peers
        broadcasts = parts.broadcasts
        providerTokens = parts.providerTokens
        providerListeners = parts.providerListeners
        courierListeners = parts.courierListeners
        management = parts.management
        managementListeners = parts.managementListeners
        development = parts.development
        state = parts.state
        readMetrics = parts.readMetrics
        history = parts.history
        logger = parts.logger
        state.serve()
    }

    /// Serves until the task is cancelled or a graceful shutdown begins. Then it delivers or stores every
    /// notification that it has accepted, and returns.
    package func run() async {
        await withTaskGroup { group in
            group.addTask { await self.delivery.run() }
            group.addTask { await self.switchboard.run() }
            group.addTask { await self.sharedSwitchboard?.run() }
            group.addTask { await self.broadcasts.run() }
            group.addTask { await self.watchCluster() }
            group.addTask { await self.providerTokens.run() }
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
        await store.close()
        await deliveryLog.flush()
        // This can fail only if the threads have ended already.
        try? await group.shutdownGracefully()
        folder.removeIfTemporary()
    }

    /// Returns the number of connected devices that receive the broadcasts of a channel.
    package func subscribers(of channel: ChannelID, of bundleID: BundleID, in environment: Environment) -> Int {
        guard let app = store.current.apps[bundleID] else { return 0 }
        let list = ChannelList(environment: environment, app: app.id)
        return broadcasts.connectedSubscribers(of: ChannelKey(list: list, id: channel))
    }

    /// Runs a task on every event loop, and returns when all have run it. Tests use this to show that no event loop
    /// hangs.
    package func visitEventLoops() async {
        for loop in group.makeIterator() { try? await loop.submit {}.get() }
    }

    /// Ends the parts in an order that loses nothing. First providers get their answers, while devices can still
    /// acknowledge. Then notifications without an acknowledgement go to their mailboxes. The management API ends
    /// last.
    private func shutDown() async {
        logger.info("Shutting down")
        state.shutDown()
        descriptionFile.remove()
        // Use one time limit for both, so that the whole shutdown ends in time.
        let end = NIODeadline.now() + settings.shutdownTimeout
        await Self.shutDown(providerListeners, within: settings.shutdownTimeout)
        await Self.shutDown(courierListeners, within: max(.zero, end - .now()))
        if let sharedSwitchboard {
            sharedSwitchboard.disconnectAll(because: .shutdown)
        } else {
            switchboard.disconnectAll(because: .shutdown)
        }
        await delivery.drain()
        await broadcasts.settle()
        peers?.peers.close()
        if let listener = peers?.listener { await listener.shutDown(within: .seconds(1)) }
        management.endStreams()
        await Self.shutDown(managementListeners, within: .seconds(1))
        await management.close()
        unlink(description.socket)
    }

    private func watchCluster() async {
        guard let cluster = store as? any ClusterNodes else { return }
        await ClusterWatch(
            cluster: cluster, peer: peers?.address, drain: { await self.drain(over: $0) },
            update: { self.peers?.peers.update($0) }
        ).run()
    }

    /// Sends all clients to other nodes, one after the other: providers get GOAWAY, devices the last line of their
    /// streams. New clients are not accepted any more.
    package func drain(over time: Duration) async {
        logger.info("Draining the node", metadata: ["over": "\(time)"])
        state.drain()
        let (seconds, attoseconds) = time.components
        let amount = TimeAmount.seconds(seconds) + .nanoseconds(attoseconds / 1_000_000_000)
        let limit = settings.shutdownTimeout
        await withDiscardingTaskGroup { group in
            for listener in providerListeners + courierListeners {
                group.addTask { await listener.drain(over: amount, within: limit) }
            }
        }
        logger.info("The node is drained")
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
    package func sampleMetrics() { history.add(readMetrics()) }

    private func keepHistory() async {
        // The sleep fails only if the task is cancelled, which ends the loop.
        while (try? await Task.sleep(for: MetricsHistory.interval)) != nil { sampleMetrics() }
    }

    private func watchStore() async {
        var watch = StoreWatch(store, logger)
        await watch.run()
    }

    private func giveMemoryBack() async {
        var relief = MemoryRelief()
        while !Task.isCancelled {
            // The sleep fails only if the task is cancelled, which ends the loop.
            try? await Task.sleep(for: MemoryRelief.interval)
            if relief.isDue(openConnections: budget.openConnections) { MemoryRelief.giveBack() }
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
                logger.error(
                    "The server's certificate was not renewed", metadata: ["cause": "\(DataFolder.reason(error))"])
            }
        }
    }
}

/// Returns when a graceful shutdown begins, or throws when the task is cancelled.
private func gracefulShutdownOrCancellation() async throws {
    try await gracefulShutdown()
}

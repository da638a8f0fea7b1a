import CoreMetrics
import Delivery
import Peers
import Synchronization

/// The metrics of a cluster's node: its lease, its connections to PostgreSQL and those to the other nodes
/// (docs/metrics.md). A service with a store of its own has none of them.
final class ClusterMetrics: Sendable {
    private let lease: Meter
    private let leasesLost: Counter
    private let openConnections: Meter
    private let lostConnections: Meter
    private let waiting: Meter
    private let longestWait: Meter
    private let connectedPeers: Meter
    private let missingPeers: Meter
    /// The lost leases that were counted.
    private let counted = Mutex<UInt64>(0)

    init(factory: any MetricsFactory) {
        func meter(_ label: String, _ dimensions: [(String, String)] = []) -> Meter {
            Meter(label: label, dimensions: dimensions, factory: factory)
        }
        lease = meter("carillon_lease_remaining_seconds")
        leasesLost = Counter(label: "carillon_leases_lost_total", factory: factory)
        openConnections = meter("carillon_store_connections", [("state", "open")])
        lostConnections = meter("carillon_store_connections", [("state", "lost")])
        waiting = meter("carillon_store_waiting")
        longestWait = meter("carillon_store_longest_wait_seconds")
        connectedPeers = meter("carillon_peers", [("state", "connected")])
        missingPeers = meter("carillon_peers", [("state", "missing")])
    }

    /// Sets the metrics, which are computed only when they are read.
    func set(_ health: ClusterHealth, _ peers: Peers) {
        lease.set(health.leaseRemaining / .seconds(1))
        let new = counted.withLock { counted in
            defer { counted = max(counted, health.leasesLost) }
            return health.leasesLost - min(counted, health.leasesLost)
        }
        leasesLost.increment(by: Int(clamping: new))
        openConnections.set(health.openConnections)
        lostConnections.set(health.lostConnections)
        waiting.set(health.waitingStatements)
        longestWait.set(health.longestWait / .seconds(1))
        connectedPeers.set(peers.connected)
        missingPeers.set(peers.missing)
    }
}

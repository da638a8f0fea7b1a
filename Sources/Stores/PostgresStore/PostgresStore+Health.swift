package import Delivery
import PostgresClient
import Synchronization

extension PostgresStore {
    package var health: ClusterHealth {
        let (now, lease) = (ContinuousClock.now, lease.withLock { $0 })
        let connections = [control] + writers + readers
        let lost = connections.count { $0.trouble != nil }
        return ClusterHealth(
            leaseRemaining: lease.remaining(at: now), leasesLost: lease.term,
            openConnections: connections.count - lost, lostConnections: lost,
            waitingStatements: connections.reduce(0) { $0 + $1.waiting },
            longestWait: connections.compactMap { $0.busySince?.duration(to: now) }.max() ?? .zero)
    }
}

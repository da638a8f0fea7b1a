import Delivery
import PrometheusMetrics

/// Reads all metrics, also those that are computed only when they are read.
struct MetricsSource: Sendable {
    private let metrics: ServiceMetrics
    private let lines: LineParts
    private let delivery: Delivery
    private let cluster: (metrics: ClusterMetrics, parts: PeerParts)?

    init(_ metrics: ServiceMetrics, _ lines: LineParts, _ delivery: Delivery, _ peers: PeerParts?) {
        self.metrics = metrics
        self.lines = lines
        self.delivery = delivery
        cluster = peers.map { (ClusterMetrics(factory: metrics.factory), $0) }
    }

    func read() -> PrometheusRegistry {
        if let cluster { cluster.metrics.set(cluster.parts.cluster.health, cluster.parts.peers) }
        return metrics.read(
            connectedDevices: lines.local.connectedDevices, pendingStores: delivery.pendingStores)
    }
}

import Notifications
import Synchronization

/// Which other nodes hold devices, as the store has last said. A hint: it may be out of date, and most devices are not
/// in it.
package final class DeviceWhereabouts: Sendable {
    package struct Place: Sendable, Hashable {
        package var node: NodeID
        package var epoch: UInt64

        package init(node: NodeID, epoch: UInt64) {
            self.node = node
            self.epoch = epoch
        }
    }

    /// The number of devices that are remembered, in some 40 MB. Beyond it, those that were not recorded for longest are
    /// forgotten. A device that is not remembered costs a write and a quarter of a second.
    package static let maximumCount = 524_288
    private static let shardCount = 16

    private struct Shard {
        var newer: [DeviceKey: Place] = [:]
        /// Those that were recorded before `newer` was last full.
        var older: [DeviceKey: Place] = [:]
        /// Each node once, so that the places of all its devices share its bytes.
        var nodes: Set<NodeID> = []
    }

    private final class LockedShard: Sendable {
        let value = Mutex(Shard())
    }

    private let shards = (0..<DeviceWhereabouts.shardCount).map { _ in LockedShard() }
    private let shardLimit: Int

    package init(maximumCount: Int = DeviceWhereabouts.maximumCount) {
        shardLimit = max(1, maximumCount / Self.shardCount / 2)
    }

    package subscript(device: DeviceKey) -> Place? {
        shard(device).value.withLock { $0.newer[device] ?? $0.older[device] }
    }

    package func record(_ device: DeviceKey, _ place: Place) {
        shard(device).value.withLock { shard in
            if shard.newer.count >= shardLimit, shard.newer[device] == nil {
                shard.older = shard.newer
                shard.newer = [:]
                shard.nodes = Set(shard.older.values.map(\.node))
            }
            let node = shard.nodes.insert(place.node).memberAfterInsert
            shard.newer[device] = Place(node: node, epoch: place.epoch)
            assert(shard.newer.count <= shardLimit && shard.older.count <= shardLimit, "Too many places are kept.")
        }
    }

    /// Forgets a place that was wrong, unless a newer one is known.
    /// - Parameter epoch: nil for any.
    package func forget(_ device: DeviceKey, epoch: UInt64? = nil) {
        shard(device).value.withLock { shard in
            let known = shard.newer[device] ?? shard.older[device]
            if let epoch, let known, known.epoch > epoch { return }
            shard.newer[device] = nil
            shard.older[device] = nil
        }
    }

    private func shard(_ device: DeviceKey) -> LockedShard {
        shards[Int(truncatingIfNeeded: device.device.rawValue % UInt64(Self.shardCount))]
    }
}

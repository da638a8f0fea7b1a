import Delivery
import Notifications
import Synchronization

/// The registrations and mailboxes of all devices. Each shard has its own lock, so threads seldom wait for each other.
final class DeviceTable: KnownRegistrations {
    /// The number of shards is that of `Delivery`.
    static let shardCount = DeliveryLimits.shards

    private final class Shard: Sendable {
        let value = Mutex(DeviceShard())
    }

    private let shards = (0..<DeviceTable.shardCount).map { _ in Shard() }

    func withShard<Value: Sendable, Failure: Error>(
        of device: DeviceKey,
        _ body: (inout DeviceShard) throws(Failure) -> Value,
    ) throws(Failure) -> Value {
        let number = Int(truncatingIfNeeded: device.device.rawValue % UInt64(shards.count))
        return try shards[number].value.withLock { shard throws(Failure) in try body(&shard) }
    }

    /// Calls `body` with each shard, one after the other. Between two calls no lock is held.
    func forEachShard(_ body: (inout DeviceShard) -> Void) {
        for shard in shards { shard.value.withLock { body(&$0) } }
    }

    func known(_ destination: Destination) -> KnownRegistration? {
        registration(of: destination).map(KnownRegistration.registered) ?? .neverRegistered
    }

    func registration(of destination: Destination) -> Registration? {
        withShard(of: destination.deviceKey) { $0.registration(of: destination) }
    }
}

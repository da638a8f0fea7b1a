import Delivery
import Notifications
import Synchronization

/// Registrations that were looked up or changed less than a second ago. Other nodes may have changed them since, so
/// an answer may be a second out of date.
final class RecentRegistrations: KnownRegistrations {
    /// The longest time for which this node may overlook another node's change. Storing checks the registration again,
    /// so the worst effect is that a connected device gets a notification for an app that was just removed.
    static let life = Duration.seconds(1)
    /// The largest number of remembered registrations. They take about 40 MB.
    static let maximumCount = 262_144
    private static let shardCount = 64

    private struct Entry {
        let registration: Registration?
        let until: ContinuousClock.Instant
    }

    private struct Shard {
        var entries: [Destination: Entry] = [:]
        /// The number of this node's changes. If it has grown during a look-up, the answer is not remembered, because
        /// it may be the state before the change.
        var changes: UInt64 = 0
    }

    private final class LockedShard: Sendable {
        let value = Mutex(Shard())
    }

    private let shards = (0..<RecentRegistrations.shardCount).map { _ in LockedShard() }
    private let now: @Sendable () -> ContinuousClock.Instant

    init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) { self.now = now }

    func knownRegistration(of destination: Destination) -> KnownRegistration? {
        let now = now()
        return shard(destination).value.withLock { shard in
            guard let entry = shard.entries[destination] else { return nil }
            guard now < entry.until else {
                shard.entries[destination] = nil
                return nil
            }
            return entry.registration.map(KnownRegistration.registered) ?? .neverRegistered
        }
    }

    /// When a look-up began, and how many changes this node had made until then.
    struct LookUp {
        fileprivate let began: ContinuousClock.Instant
        fileprivate let changes: UInt64
    }

    func begin(_ destination: Destination) -> LookUp {
        LookUp(began: now(), changes: shard(destination).value.withLock { $0.changes })
    }

    /// Remembers the answer of a look-up. Its age counts from when the look-up began.
    func end(_ lookUp: LookUp, _ destination: Destination, _ registration: Registration?) {
        shard(destination).value.withLock { shard in
            guard shard.changes == lookUp.changes else { return }
            Self.set(registration, until: lookUp.began.advanced(by: Self.life), of: destination, in: &shard)
        }
    }

    /// Remembers a change that this node has made.
    func set(_ registration: Registration, of destination: Destination) {
        let until = now().advanced(by: Self.life)
        shard(destination).value.withLock { shard in
            shard.changes &+= 1
            Self.set(registration, until: until, of: destination, in: &shard)
        }
    }

    /// Forgets a registration that this node is about to change, or has changed with an unknown result.
    func forget(_ destination: Destination) {
        shard(destination).value.withLock { shard in
            shard.changes &+= 1
            shard.entries[destination] = nil
        }
    }

    private static func set(
        _ registration: Registration?,
        until: ContinuousClock.Instant,
        of destination: Destination,
        in shard: inout Shard,
    ) {
        // Entries live for a second only, so starting again with an empty table costs little.
        if shard.entries.count >= maximumCount / shardCount { shard.entries.removeAll(keepingCapacity: true) }
        shard.entries[destination] = Entry(registration: registration, until: until)
    }

    private func shard(_ destination: Destination) -> LockedShard {
        shards[Int(truncatingIfNeeded: destination.device.rawValue % UInt64(Self.shardCount))]
    }
}

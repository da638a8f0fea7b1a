import Delivery
import Notifications
import Synchronization

/// All registrations in memory. Every push looks its registration up here.
///
/// The table is divided into shards with a lock each, so that readers, and a shard that grows, do not delay the others.
final class RegistrationTable: KnownRegistrations {
    /// A power of two, because bits of the hash choose the shard. With this number two threads seldom need the same
    /// shard, and several look-ups of a batch share one.
    static let shardCount = 8

    private let shards: [Shard]

    private final class Shard: Sendable {
        let value: Mutex<RegistrationShard>
        init(capacity: Int) { value = Mutex(RegistrationShard(capacity: capacity)) }
    }

    /// - Parameter capacity: the number of registrations at first.
    init(capacity: Int = 0) {
        // Slightly more than the average, because devices are not distributed evenly.
        let perShard = capacity / Self.shardCount
        shards = (0..<Self.shardCount).map { _ in Shard(capacity: perShard + perShard / 16) }
    }

    subscript(destination: Destination) -> Registration? {
        let hash = Self.hash(destination.deviceKey)
        return shard(hash).value.withLock { $0.registration(of: destination, hash: hash) }
    }

    func known(_ destination: Destination) -> KnownRegistration? {
        self[destination].map(KnownRegistration.registered) ?? .neverRegistered
    }

    func known(_ destinations: [Destination]) -> [KnownRegistration?] {
        guard destinations.count > 1 else { return destinations.map { known($0) } }
        let hashes = destinations.map { Self.hash($0.deviceKey) }
        var found = [KnownRegistration?](repeating: .neverRegistered, count: destinations.count)
        // Shard by shard: each lock makes the processor wait for its earlier reads.
        for (number, shard) in shards.enumerated() {
            var hasAny = false
            for hash in hashes where Self.shard(hash) == number { hasAny = true }
            guard hasAny else { continue }
            shard.value.withLock { shard in
                for index in hashes.indices where Self.shard(hashes[index]) == number {
                    let registration = shard.registration(of: destinations[index], hash: hashes[index])
                    if let registration { found[index] = .registered(registration) }
                }
            }
        }
        return found
    }

    func set(_ registration: Registration, of destination: Destination) {
        let hash = Self.hash(destination.deviceKey)
        shard(hash).value.withLock { $0.set(registration, of: destination, hash: hash) }
    }

    /// All of one device's registrations at once, so that no reader sees only some of them.
    func set(_ registrations: [(destination: Destination, registration: Registration)], of device: DeviceKey) {
        let hash = Self.hash(device)
        shard(hash).value.withLock { shard in
            for (destination, registration) in registrations where destination.deviceKey == device {
                shard.set(registration, of: destination, hash: hash)
            }
        }
    }

    func remove(_ destination: Destination) {
        let hash = Self.hash(destination.deviceKey)
        shard(hash).value.withLock { $0.remove(destination, hash: hash) }
    }

    /// The position of a search through all rows.
    struct Position: Equatable {
        /// How many shards are not completely searched.
        var shards = RegistrationTable.shardCount
        /// In the last of these shards, the row up to which nothing was searched; nil for all rows.
        var row: Int?
    }

    /// Continues a search for the registrations of matching apps, until it has `limit` destinations or there are no
    /// more rows. Removing what it found does not disturb the search: the last row, which replaces a removed one, was
    /// searched before.
    func destinations(
        from position: inout Position,
        limit: Int,
        where condition: (AppID) -> Bool,
    ) -> [Destination] {
        var found: [Destination] = []
        while position.shards > 0, found.count < limit {
            let (more, end) = shards[position.shards - 1].value.withLock {
                $0.destinations(before: position.row ?? $0.count, limit: limit - found.count, where: condition)
            }
            found += more
            position.row = end
            if end == 0 { position = Position(shards: position.shards - 1) }
        }
        return found
    }

    func registrations(of device: DeviceKey) -> [AppID: Registration] {
        let hash = Self.hash(device)
        return shard(hash).value.withLock { $0.registrations(of: device, hash: hash) }
    }

    var count: Int { shards.reduce(0) { $0 + $1.value.withLock { $0.count } } }

    private func shard(_ hash: UInt64) -> Shard { shards[Self.shard(hash)] }
    private static func shard(_ hash: UInt64) -> Int { Int(hash >> 32) & (shardCount - 1) }

    /// The hash of a device. The upper bits choose the shard, the lower bits the place. The service chooses device IDs
    /// at random, so a fixed function is safe.
    static func hash(_ device: DeviceKey) -> UInt64 {
        var hash = device.device.rawValue &+ (device.environment == .production ? 0x9e37_79b9_7f4a_7c15 : 0)
        // The finaliser of SplitMix64.
        hash = (hash ^ hash >> 30) &* 0xbf58_476d_1ce4_e5b9
        hash = (hash ^ hash >> 27) &* 0x94d0_49bb_1331_11eb
        return hash ^ hash >> 31
    }
}

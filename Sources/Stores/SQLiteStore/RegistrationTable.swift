import Delivery
import Notifications
import Synchronization

/// All registrations in memory. Every push looks its registration up here.
///
/// The table is divided into shards. Each has its own lock, so that readers and a growing shard do not delay the
/// other shards.
final class RegistrationTable: KnownRegistrations {
    /// The number of shards. It is a power of two, because bits of the hash choose the shard. With eight shards, two
    /// threads seldom need the same one, and several look-ups of a batch share one lock.
    static let shardCount = 8

    private let shards: [Shard]

    private final class Shard: Sendable {
        let value: Mutex<RegistrationShard>
        init(capacity: Int) { value = Mutex(RegistrationShard(capacity: capacity)) }
    }

    /// - Parameter capacity: the number of registrations to make room for.
    init(capacity: Int = 0) {
        // Make slightly more room than the average, because devices are not distributed evenly over the shards.
        let perShard = capacity / Self.shardCount
        shards = (0..<Self.shardCount).map { _ in Shard(capacity: perShard + perShard / 16) }
    }

    subscript(destination: Destination) -> Registration? {
        let hash = Self.hash(destination.deviceKey)
        return shard(hash).value.withLock { $0.registration(of: destination, hash: hash) }
    }

    func knownRegistration(of destination: Destination) -> KnownRegistration? {
        self[destination].map(KnownRegistration.registered) ?? .neverRegistered
    }

    func knownRegistration(ofEach destinations: [Destination]) -> [KnownRegistration?] {
        guard destinations.count > 1 else { return destinations.map { knownRegistration(of: $0) } }
        let hashes = destinations.map { Self.hash($0.deviceKey) }
        var found = [KnownRegistration?](repeating: .neverRegistered, count: destinations.count)
        // Look up shard by shard, because each lock makes the processor wait for its earlier reads.
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

    /// Sets all registrations of one device at once, so that readers never see only some of them.
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

    /// How far a search through all rows has come.
    struct Position: Equatable {
        /// How many shards are not completely searched yet.
        var shards = RegistrationTable.shardCount
        /// In the last of these shards, only the rows below this number are not searched yet; nil for all of its
        /// rows.
        var row: Int?
    }

    /// Continues a search for the registrations of matching apps, until it has `limit` destinations or reaches the
    /// end. The found registrations may be removed between two calls. A removed row is replaced by the last row,
    /// which was searched before.
    func destinations(
        from position: inout Position,
        limit: Int,
        where condition: (AppID) -> Bool,
    ) -> [Destination] {
        var found: [Destination] = []
        while position.shards > 0, found.count < limit {
            let (more, end) = shards[position.shards - 1].value.withLock {  // fits: more than 0
                $0.destinations(before: position.row ?? $0.count, limit: limit - found.count, where: condition)
            }
            found += more
            position.row = end
            if end == 0 { position = Position(shards: position.shards - 1) }  // fits: more than 0
        }
        return found
    }

    func registrations(of device: DeviceKey) -> [AppID: Registration] {
        let hash = Self.hash(device)
        return shard(hash).value.withLock { $0.registrations(of: device, hash: hash) }
    }

    var count: Int { shards.reduce(0) { $0 + $1.value.withLock { $0.count } } }

    private func shard(_ hash: UInt64) -> Shard { shards[Self.shard(hash)] }
    private static func shard(_ hash: UInt64) -> Int { Int(hash >> 32) & (shardCount - 1) }  // fits: 32 bits

    /// The hash of a device. Its upper bits choose the shard, and its lower bits the place. Attackers cannot cause
    /// collisions, because the service chooses device IDs at random. So the hash needs no secret.
    static func hash(_ device: DeviceKey) -> UInt64 {
        var hash = device.device.rawValue &+ (device.environment == .production ? 0x9e37_79b9_7f4a_7c15 : 0)
        // The finaliser of SplitMix64.
        hash = (hash ^ hash >> 30) &* 0xbf58_476d_1ce4_e5b9
        hash = (hash ^ hash >> 27) &* 0x94d0_49bb_1331_11eb
        return hash ^ hash >> 31
    }
}

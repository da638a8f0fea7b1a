import Delivery
import Notifications
import Synchronization

/// Every registration, in memory, as the database has it: what each push asks first.
///
/// It is divided into shards with a lock each, so that neither readers nor a table that grows hold up the others.
final class RegistrationTable: KnownRegistrations {
    /// A power of two, so that bits of the hash choose. Enough that two threads seldom meet, and few enough that several
    /// of a batch are in the same one.
    static let shardCount = 8

    private let shards: [Shard]

    private final class Shard: Sendable {
        let value: Mutex<RegistrationShard>
        init(capacity: Int) { value = Mutex(RegistrationShard(capacity: capacity)) }
    }

    /// - Parameter capacity: how many registrations there will be at first.
    init(capacity: Int = 0) {
        // A little more than the average, since devices do not spread evenly.
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
        // Shard by shard, because taking a lock waits for what was to be read before.
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

    /// Several of one device's at once, so that nobody sees only some of them.
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

    /// Where a look at all rows has come to.
    struct Position: Equatable {
        /// How many shards have not been looked at to the end.
        var shards = RegistrationTable.shardCount
        /// In the last of them, the row before which nothing was looked at; nil for all of its rows.
        var row: Int?
    }

    /// Goes on to look at all rows for apps that are such, until there are `limit` of their destinations or no more rows.
    /// What was found and is removed before the next call does not disturb it: the last row of a shard, which takes the
    /// place of a row that is removed, has been looked at.
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

    /// Spreads the devices: the upper bits choose the shard, the lower ones the place in it. Devices' names are chosen
    /// at random by the service, so a fixed function will do.
    static func hash(_ device: DeviceKey) -> UInt64 {
        var hash = device.device.rawValue &+ (device.environment == .production ? 0x9e37_79b9_7f4a_7c15 : 0)
        // The finaliser of SplitMix64.
        hash = (hash ^ hash >> 30) &* 0xbf58_476d_1ce4_e5b9
        hash = (hash ^ hash >> 27) &* 0x94d0_49bb_1331_11eb
        return hash ^ hash >> 31
    }
}

package import Delivery
package import Notifications
import Synchronization

extension MemoryStore: Registrations {
    package func known(_ destination: Destination) -> KnownRegistration? { devices.known(destination) }

    package func lookUp(_ destinations: [Destination]) async throws(StoreError) -> [Registration?] {
        destinations.map { devices.registration(of: $0) }
    }

    package func registrations(of device: DeviceKey) async throws(StoreError) -> [AppID: Registration] {
        devices.withShard(of: device) { $0.registrations(of: device) }
    }

    package func devices(
        in environment: Environment,
        after device: DeviceID?,
        limit: Int,
    ) async throws(StoreError) -> [ListedDevice] {
        var listed: [ListedDevice] = []
        var last = device
        while listed.count < limit {
            var page = FirstInOrder<DeviceID>(limit - listed.count)
            devices.forEachShard { $0.addDevices(to: &page, in: environment, after: last) }
            guard let newest = page.elements.last else { break }
            last = newest
            for device in page.elements {
                let key = DeviceKey(environment: environment, device: device)
                // The device's apps may have been deleted meanwhile. If so, the loop adds another device to the page.
                if let device = devices.withShard(of: key, { $0.listed(key) }) { listed.append(device) }
            }
        }
        return listed
    }

    package func register(
        _ destination: Destination,
        tokenKeyID: UInt32,
        at moment: Timestamp,
    ) async throws(StoreError) -> Registration {
        try devices.withShard(of: destination.deviceKey) { shard throws(StoreError) in
            guard accounts.current.revokedDevices[destination.deviceKey] == nil else {
                throw .revoked(destination.device)
            }
            let (registration, isBack) = shard.register(destination, tokenKeyID: tokenKeyID, at: moment)
            if isBack { feedback.withLock { $0.remove(destination, generation: registration.generation) } }
            return registration
        }
    }

    package func end(_ destination: Destination, at moment: Timestamp) async throws(StoreError) -> Registration? {
        let ended = devices.withShard(of: destination.deviceKey) { shard in
            let ended = shard.end(destination, at: moment)
            channelTable.withLock { $0.unsubscribe(destination) }
            return ended
        }
        if let discarded = ended?.discarded { journal.record([discarded]) }
        return ended?.registration
    }

    package func removeOrphaned(limit: Int) async throws(StoreError) -> Int {
        // App numbers are consecutive. If the count equals the newest number, no app was ever deleted.
        let count = accounts.current.apps.count
        guard count < lastAppID.withLock({ $0 }) else { return 0 }
        var (removed, discarded) = (0, [EndedNotification]())
        devices.forEachShard { shard in
            // Take the snapshot while holding the lock. Then each registered app that is missing in it was deleted.
            let snapshot = accounts.current
            let orphans = shard.removeOrphaned(limit: limit - removed) { snapshot.app($0) == nil }
            removed += orphans.removed
            discarded += orphans.discarded
        }
        journal.record(discarded)
        // Remove the lists last: without its registration, a destination gets no new entry.
        if removed < limit {
            let snapshot = accounts.current
            feedback.withLock { $0.removeLists { snapshot.app($0) == nil } }
        }
        return removed
    }

    package func renewTokens(
        of device: DeviceKey,
        tokenKeyID: UInt32,
        at moment: Timestamp,
    ) async throws(StoreError) {
        let discarded = devices.withShard(of: device) { shard in
            let discarded = shard.renewTokens(of: device, tokenKeyID: tokenKeyID, at: moment)
            if discarded != nil { channelTable.withLock { $0.unsubscribe(device) } }
            return discarded
        }
        guard let discarded else { throw .outOfTokens(device.device) }
        journal.record(discarded)
    }
}

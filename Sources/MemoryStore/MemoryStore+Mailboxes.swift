package import Delivery
package import Notifications

extension MemoryStore: Mailboxes {
    package func store(_ entries: [MailboxEntry]) async -> [Result<MailboxVersion, StoreError>] {
        var ended: [EndedNotification] = []
        let results = entries.map { entry -> Result<MailboxVersion, StoreError> in
            let (version, replaced) = devices.withShard(of: entry.destination.deviceKey) { $0.store(entry) }
            if let replaced { ended.append(replaced) }
            return .success(version)
        }
        journal.record(ended)
        return results
    }

    package func remove(_ references: [MailboxReference]) async -> [Result<MailboxRemoval, StoreError>] {
        references.map { reference in
            let removed = devices.withShard(of: reference.destination.deviceKey) { $0.remove(reference) }
            return .success(removed == nil ? .superseded : .removed)
        }
    }

    package func entries(of device: DeviceKey) async throws(StoreError) -> [StoredMailboxEntry] {
        devices.withShard(of: device) { $0.entries(of: device) }
    }

    package func removeExpired(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int {
        var expired: [EndedNotification] = []
        devices.forEachShard { shard in
            expired += shard.removeExpired(before: moment, limit: limit - expired.count)
        }
        journal.record(expired)
        return expired.count
    }
}

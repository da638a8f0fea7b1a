package import Delivery
package import Notifications

extension MemoryStore: Mailboxes {
    package var isShared: Bool { secrets.isShared }

    package func store(_ entries: [MailboxEntry]) async -> [Result<MailboxVersion, StoreError>] {
        var ended: [EndedNotification] = []
        let now = journal.now
        let results = entries.map { entry in
            Result { () throws(StoreError) -> MailboxVersion in
                let (version, replaced) = try devices.withShard(of: entry.destination.deviceKey) {
                    shard throws(StoreError) in try shard.store(entry, at: now)
                }
                if let replaced { ended.append(replaced) }
                return version
            }
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

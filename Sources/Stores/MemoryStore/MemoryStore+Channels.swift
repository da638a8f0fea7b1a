package import Delivery
package import Notifications
import Synchronization

extension MemoryStore: Channels {
    package func create(_ channels: [BroadcastChannel], limit: Int) async -> [Result<Void, StoreError>] {
        channelTable.withLock { table in
            channels.map { channel in
                Result { () throws(StoreError) in try table.create(channel, limit: limit) }
            }
        }
    }

    package func channels(_ keys: [ChannelKey]) async throws(StoreError) -> [BroadcastChannel?] {
        channelTable.withLock { table in keys.map { table.channel($0) } }
    }

    package func channels(
        of list: ChannelList,
        after id: ChannelID?,
        limit: Int,
    ) async throws(StoreError) -> [BroadcastChannel] {
        channelTable.withLock { $0.channels(of: list, after: id, limit: limit) }
    }

    package func remove(_ keys: [ChannelKey]) async -> [Result<Bool, StoreError>] {
        channelTable.withLock { table in keys.map { .success(table.remove($0)) } }
    }

    package func store(_ broadcasts: [BroadcastEntry]) async -> [Result<BroadcastVersion, StoreError>] {
        channelTable.withLock { table in
            broadcasts.map { entry in Result { () throws(StoreError) in try table.store(entry) } }
        }
    }

    package func stored(_ keys: [ChannelKey]) async throws(StoreError) -> [StoredBroadcast?] {
        channelTable.withLock { table in keys.map { table.stored($0) } }
    }

    package func subscribe(
        _ subscriptions: [Subscription],
        limit: Int,
        at moment: Timestamp,
    ) async -> [Result<Void, StoreError>] {
        subscriptions.map { subscription in
            Result { () throws(StoreError) in
                try devices.withShard(of: subscription.device) { shard throws(StoreError) in
                    let registration = shard.registration(of: subscription.destination)
                    guard let registration, registration.isActive else {
                        throw .ended(at: registration?.changed ?? moment)
                    }
                    try channelTable.withLock { table throws(StoreError) in
                        try table.subscribe(subscription, limit: limit)
                    }
                }
            }
        }
    }

    package func unsubscribe(_ subscriptions: [Subscription]) async -> [Result<Void, StoreError>] {
        channelTable.withLock { table in
            subscriptions.map { subscription in
                table.unsubscribe(subscription)
                return .success(())
            }
        }
    }

    package func mark(_ seen: [SeenBroadcast]) async -> [Result<Void, StoreError>] {
        channelTable.withLock { table in
            seen.map { seen in
                table.mark(seen)
                return .success(())
            }
        }
    }

    package func maySubscribe(_ device: DeviceKey) -> Bool { channelTable.withLock { $0.has(device) } }

    package func subscriptions(of device: DeviceKey) async throws(StoreError) -> [SubscribedChannel] {
        channelTable.withLock { $0.subscriptions(of: device) }
    }

    package func removeLeftovers(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int {
        let snapshot = accounts.current
        return channelTable.withLock { table in
            table.removeLeftovers(before: moment, limit: limit) { snapshot.app($0) == nil }
        }
    }
}

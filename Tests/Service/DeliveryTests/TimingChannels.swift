import Delivery
import Notifications
import Storage
import Synchronization

/// Channels that note how long ago each broadcast was accepted.
final class TimingChannels: Channels {
    private let inner: any Channels
    let waits = Mutex<[Duration?]>([])

    init(_ inner: any Channels) { self.inner = inner }

    func store(_ broadcasts: [BroadcastEntry]) async -> [Result<BroadcastVersion, StoreError>] {
        waits.withLock { $0 += broadcasts.map(\.waited) }
        return await inner.store(broadcasts)
    }

    func create(_ channels: [BroadcastChannel], limit: Int) async -> [Result<Void, StoreError>] {
        await inner.create(channels, limit: limit)
    }

    func channels(_ keys: [ChannelKey]) async throws(StoreError) -> [BroadcastChannel?] {
        try await inner.channels(keys)
    }

    func channels(
        of list: ChannelList, after id: ChannelID?, limit: Int,
    ) async throws(StoreError) -> [BroadcastChannel] {
        try await inner.channels(of: list, after: id, limit: limit)
    }

    func remove(_ keys: [ChannelKey]) async -> [Result<Bool, StoreError>] { await inner.remove(keys) }
    func stored(_ keys: [ChannelKey]) async throws(StoreError) -> [StoredBroadcast?] { try await inner.stored(keys) }

    func subscribe(
        _ subscriptions: [Subscription], limit: Int, at moment: Timestamp,
    ) async -> [Result<Void, StoreError>] {
        await inner.subscribe(subscriptions, limit: limit, at: moment)
    }

    func unsubscribe(_ subscriptions: [Subscription]) async -> [Result<Void, StoreError>] {
        await inner.unsubscribe(subscriptions)
    }

    func mark(_ seen: [SeenBroadcast]) async -> [Result<Void, StoreError>] { await inner.mark(seen) }
    func maySubscribe(_ device: DeviceKey) -> Bool { inner.maySubscribe(device) }

    func subscriptions(of device: DeviceKey) async throws(StoreError) -> [SubscribedChannel] {
        try await inner.subscriptions(of: device)
    }

    func removeLeftovers(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await inner.removeLeftovers(before: moment, limit: limit)
    }
}

import Delivery
import Notifications

/// The broadcast channels, their stored broadcasts, and the subscriptions of devices.
struct ChannelTable: Sendable {
    private struct Kept: Sendable {
        let channel: BroadcastChannel
        var stored: StoredBroadcast?
    }

    /// A channel of an app, in the form in which a device refers to it.
    private struct Name: Sendable, Hashable {
        let app: AppID
        let id: ChannelID
    }

    private var lists: [ChannelList: [ChannelID: Kept]] = [:]
    /// For each device, its subscriptions with the newest broadcast that it has acknowledged.
    private var subscriptions: [DeviceKey: [Name: BroadcastVersion?]] = [:]
    private var lastVersion: UInt64 = 0

    // MARK: Channels

    func channel(_ key: ChannelKey) -> BroadcastChannel? { lists[key.list]?[key.id]?.channel }

    mutating func create(_ channel: BroadcastChannel, limit: Int) throws(StoreError) {
        // Not in a variable: while one refers to the list, the change below copies it.
        guard lists[channel.key.list]?[channel.key.id] == nil else { throw .channelExists(channel.key.id) }
        guard lists[channel.key.list]?.count ?? 0 < limit else { throw .tooManyChannels(limit) }
        lists[channel.key.list, default: [:]][channel.key.id] = Kept(channel: channel)
    }

    func channels(of list: ChannelList, after id: ChannelID?, limit: Int) -> [BroadcastChannel] {
        let following = (lists[list] ?? [:]).values.map(\.channel).filter { channel in
            id.map { $0 < channel.key.id } ?? true
        }
        return Array(following.sorted { $0.key.id < $1.key.id }.prefix(limit))
    }

    mutating func remove(_ key: ChannelKey) -> Bool {
        guard lists[key.list]?.removeValue(forKey: key.id) != nil else { return false }
        if lists[key.list]?.isEmpty ?? false { lists[key.list] = nil }
        return true
    }

    // MARK: Broadcasts

    mutating func store(_ entry: BroadcastEntry) throws(StoreError) -> BroadcastVersion {
        guard lists[entry.channel.list]?[entry.channel.id] != nil else { throw .noChannel(entry.channel.id) }
        lastVersion += 1
        let stored = StoredBroadcast(entry: entry, version: BroadcastVersion(rawValue: lastVersion))
        lists[entry.channel.list]?[entry.channel.id]?.stored = stored
        return stored.version
    }

    func stored(_ key: ChannelKey) -> StoredBroadcast? { lists[key.list]?[key.id]?.stored }

    // MARK: Subscriptions

    func has(_ device: DeviceKey) -> Bool { subscriptions[device] != nil }

    mutating func subscribe(_ subscription: Subscription, limit: Int) throws(StoreError) {
        guard channel(subscription.key) != nil else { throw .noChannel(subscription.channel) }
        let name = Name(app: subscription.app, id: subscription.channel)
        let all = subscriptions[subscription.device] ?? [:]
        guard all[name] == nil else { return }
        guard all.keys.count(where: { $0.app == name.app }) < limit else { throw .tooManySubscriptions(limit) }
        subscriptions[subscription.device, default: [:]].updateValue(nil, forKey: name)
    }

    mutating func unsubscribe(_ subscription: Subscription) {
        let name = Name(app: subscription.app, id: subscription.channel)
        removeSubscriptions(of: subscription.device) { $0 == name }
    }

    /// Ends all subscriptions of an app on a device.
    mutating func unsubscribe(_ destination: Destination) {
        removeSubscriptions(of: destination.deviceKey) { $0.app == destination.app }
    }

    /// Ends all subscriptions of a device.
    mutating func unsubscribe(_ device: DeviceKey) { subscriptions[device] = nil }

    @discardableResult
    private mutating func removeSubscriptions(of device: DeviceKey, where condition: (Name) -> Bool) -> Int {
        guard let before = subscriptions[device] else { return 0 }
        let left = before.filter { !condition($0.key) }
        guard left.count < before.count else { return 0 }
        subscriptions[device] = left.isEmpty ? nil : left
        return before.count - left.count
    }

    mutating func mark(_ seen: SeenBroadcast) {
        let name = Name(app: seen.subscription.app, id: seen.subscription.channel)
        guard let recorded = subscriptions[seen.subscription.device]?[name] else { return }
        guard recorded.map({ $0 < seen.version }) ?? true else { return }
        subscriptions[seen.subscription.device]?.updateValue(seen.version, forKey: name)
    }

    func subscriptions(of device: DeviceKey) -> [SubscribedChannel] {
        (subscriptions[device] ?? [:]).compactMap { name, seen in
            let list = ChannelList(environment: device.environment, app: name.app)
            return channel(ChannelKey(list: list, id: name.id)).map { SubscribedChannel(channel: $0, seen: seen) }
        }
    }

    // MARK: Leftovers

    mutating func removeLeftovers(
        before moment: Timestamp,
        limit: Int,
        isOrphaned: (AppID) -> Bool,
    ) -> Int {
        var removed = 0
        for (list, kept) in lists {
            for (id, channel) in kept where removed < limit {
                if isOrphaned(list.app) {
                    _ = remove(channel.channel.key)
                    removed += 1
                } else if let stored = channel.stored, stored.entry.expires < moment {
                    lists[list]?[id]?.stored = nil
                    removed += 1
                }
            }
        }
        guard removed < limit else { return limit }
        // Find them before the first change. While an iteration or a closure refers to the table, each change would
        // copy all of it: a channel may have as many subscribers as there are devices.
        let lists = lists
        func isLeft(_ name: Name, of device: DeviceKey) -> Bool {
            lists[ChannelList(environment: device.environment, app: name.app)]?[name.id] == nil
        }
        var devices: [DeviceKey] = []
        for (device, names) in subscriptions
        where devices.count < limit - removed && names.keys.contains(where: { isLeft($0, of: device) }) {
            devices.append(device)
        }
        for device in devices where removed < limit {
            removed += removeSubscriptions(of: device) { isLeft($0, of: device) }
        }
        return min(removed, limit)
    }
}

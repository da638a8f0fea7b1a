import Notifications
import Synchronization

// Sends broadcasts to the devices that are connected to this node.
extension Broadcasts {
    func message(_ stored: StoredBroadcast) -> BroadcastMessage? {
        message(stored.entry.notification, to: stored.entry.channel, version: stored.version)
    }

    /// - Returns: nil if the app was deleted. It has no name then, and nothing is sent to it.
    func message(_ notification: Notification, to channel: ChannelKey, version: BroadcastVersion?) -> BroadcastMessage?
    {
        guard let app = accounts.current.app(channel.list.app) else { return nil }
        return BroadcastMessage(
            number: nextNumber(), channel: channel, bundleID: app.bundleID, notification: notification,
            version: version, clocks: clock.teams)
    }

    /// Makes broadcasts that are not urgent wait for the power of the devices that are connected to this node.
    package func respectPower(of local: LocalSwitchboard) {
        switchboard.withLock { $0.local = local }
        local.onRelease { [weak self] in self?.release($0) }
    }

    /// Whether the power of a device lets it get a message at this time.
    /// - Returns: nil if the message wakes every device.
    func isAwake(for message: BroadcastMessage, at now: Moment) -> ((DeviceKey) -> Bool)? {
        guard message.notification.urgency != .immediate, let local = switchboard.withLock({ $0.local }) else {
            return nil
        }
        return { local.admitsBroadcast(message.notification, to: $0, now: now) }
    }

    private func release(_ device: DeviceKey) {
        guard isUsable else { return }
        let (count, readsAgain) = shard(device).lines.withLock { $0.release(device, at: clock.time) }
        if count > 0 { sent(count) }
        if readsAgain { reload(device) }
    }

    /// Sends a message to all subscribers that are connected to this node. If it is not urgent, devices with low power get
    /// it later.
    /// - Parameter isStored: whether the message was read from the store.
    /// - Returns: The number of devices that get it now or later.
    func fanOut(_ message: BroadcastMessage, isStored: Bool = false) -> Int {
        guard isUsable else { return 0 }
        let now = clock.moment
        let isAwake = isAwake(for: message, at: now)
        var (count, held, leftOut) = (0, 0, 0)
        for shard in shards {
            let sending = shard.lines.withLock { lines in
                lines.admit(message, isStored: isStored, at: now.time, isAwake: isAwake)
            }
            count += sending.streams.count
            held += sending.held
            leftOut += sending.full
            for stream in sending.streams { stream.send(message) }
        }
        if leftOut > 0 { limitExceeded(.unacknowledgedBroadcasts) }
        if count > 0 { sent(count) }
        return count + held
    }
}

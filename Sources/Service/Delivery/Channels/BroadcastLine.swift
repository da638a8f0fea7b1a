import DequeModule
import Notifications

/// What is known of one connected device for the delivery of broadcasts: the channels that it is subscribed to, and
/// the broadcasts that it has not acknowledged yet.
///
/// It works as a pure state machine. It is a class, because the lists of subscribers refer to it. The lock of its
/// shard guards it.
final class BroadcastLine {
    let stream: any BroadcastStream
    let device: DeviceKey
    /// Whether the store is being asked for the device's subscriptions.
    var isLoading = false
    /// Whether the device counts as awake for what is read from the store next. It does when it has just opened its stream,
    /// and when what had to be left out is read after a burst.
    var isAwakeForLoad = true
    /// Whether the subscriptions have changed since the store was asked.
    var isStale = false
    private(set) var channels: [ChannelKey: State] = [:]
    /// The broadcasts under way, the oldest first.
    private var underWay: [(number: UInt64, channel: ChannelKey, version: BroadcastVersion?)] = []
    /// The broadcasts that wait until the device is awake, the oldest first.
    private var waiting = Deque<(message: BroadcastMessage, isStored: Bool)>()
    /// The channels of which a stored broadcast found no room among those that wait. It counts as missed when these are
    /// sent: if it were read before, it would find no room again.
    private var leftOut: Set<ChannelKey> = []
    private let limit: Int

    struct State {
        let policy: MessageStoragePolicy
        /// The newest stored broadcast that the device has acknowledged, as the store knows it.
        var recorded: BroadcastVersion?
        /// The newest stored broadcast that the device has acknowledged, as this line knows it.
        var seen: BroadcastVersion?
        /// The newest stored broadcast that was sent on this stream.
        var sent: BroadcastVersion?
        /// Whether a broadcast was left out because there was no room.
        var hasMissed = false

        func needs(_ message: BroadcastMessage, isStored: Bool) -> Bool {
            message.version.map { !had($0, orNewer: isStored) } ?? true
        }

        /// Whether the device has had a stored broadcast.
        /// - Parameter orNewer: whether one that it has had may also be newer.
        private func had(_ version: BroadcastVersion, orNewer: Bool) -> Bool {
            if let seen, seen == version || orNewer && seen > version { return true }
            if let sent, sent == version || orNewer && sent > version { return true }
            return false
        }
    }

    init(_ stream: any BroadcastStream, of device: DeviceKey, limit: Int) {
        self.stream = stream
        self.device = device
        self.limit = limit
    }

    var hasRoom: Bool { underWay.count < limit }

    /// Whether a broadcast is for the device, and it has not had it.
    /// - Parameter isStored: whether it comes from the store. Then the device has had it too if it has had a newer one.
    func needs(_ message: BroadcastMessage, isStored: Bool) -> Bool {
        guard let state = channels[message.channel] else { return false }
        return state.needs(message, isStored: isStored)
    }

    /// Takes over the device's subscriptions.
    /// - Returns: The channels that are new, and those that are gone.
    func subscribe(to subscribed: [SubscribedChannel]) -> (new: [ChannelKey], gone: [ChannelKey]) {
        let keys = Set(subscribed.map(\.channel.key))
        let gone = channels.keys.filter { !keys.contains($0) }
        for key in gone { drop(key) }
        var new: [ChannelKey] = []
        for subscription in subscribed where channels[subscription.channel.key] == nil {
            let state = State(
                policy: subscription.channel.policy, recorded: subscription.seen, seen: subscription.seen)
            channels[subscription.channel.key] = state
            new.append(subscription.channel.key)
        }
        return (new, gone)
    }

    /// Returns the channels whose stored broadcast the device may not have received. From now on none counts as missed,
    /// because the caller reads them all. If there is no room for what it reads, or for what comes meanwhile, that is
    /// missed again.
    func claimChannelsToRead() -> [ChannelKey] {
        // A channel is not read while broadcasts of it wait for the device to be awake: these are sent first.
        let waiting = Set(waiting.map(\.message.channel))
        let keys = channels.keys.filter { key in
            guard !waiting.contains(key), let state = channels[key] else { return false }
            return state.policy == .newest && (state.sent == nil || state.hasMissed)
        }
        for key in keys { channels[key]?.hasMissed = false }
        return keys
    }

    /// Forgets a channel that was removed, or to which the device is not subscribed any more. Its waiting broadcasts are
    /// removed too, because they would keep the channel from being read after a new subscription.
    func drop(_ channel: ChannelKey) {
        channels[channel] = nil
        waiting.removeAll { $0.message.channel == channel }
        leftOut.remove(channel)
    }

    /// Decides whether a broadcast that the device needs is sent on the stream.
    func admit(_ message: BroadcastMessage, isStored: Bool) -> Admission {
        guard var state = channels[message.channel], state.needs(message, isStored: isStored) else { return .unneeded }
        guard hasRoom else {
            // A broadcast without a version is not kept by its channel, so it is lost for this device.
            state.hasMissed = state.hasMissed || message.version != nil
            channels[message.channel] = state
            return .noRoom
        }
        if let version = message.version { state.sent = max(version, state.sent ?? version) }
        channels[message.channel] = state
        underWay.append((message.number, message.channel, message.version))
        assert(underWay.count <= limit, "More broadcasts are under way than allowed.")
        return .send
    }

    /// Keeps a broadcast that the device needs until it is awake. Those that wait take at most half of the room, so that
    /// they never block urgent ones. Beyond it, the oldest is left out, but one that comes from the store is left out
    /// itself: it can be read again, and the oldest perhaps not.
    /// - Returns: `noRoom` if one was left out.
    func hold(_ message: BroadcastMessage, isStored: Bool) -> Admission {
        guard needs(message, isStored: isStored) else { return .unneeded }
        if waiting.count < max(1, limit / 2) {
            waiting.append((message, isStored))
            return .send
        }
        if isStored {
            leftOut.insert(message.channel)
            return .noRoom
        }
        waiting.append((message, isStored))
        if let oldest = waiting.popFirst()?.message, oldest.version != nil { leftOut.insert(oldest.channel) }
        return .noRoom
    }

    /// Returns the waiting broadcasts that are to be sent now, because the device is awake.
    func release(at now: Timestamp) -> [BroadcastMessage] {
        for channel in leftOut { channels[channel]?.hasMissed = true }
        leftOut = []
        guard !waiting.isEmpty else { return [] }
        let released = waiting
        waiting = []
        return released.compactMap { message, isStored in
            let now = message.clocks.time(now, of: message.channel.list.app)
            guard !message.notification.expiration.hasPassed(at: now), admit(message, isStored: isStored) == .send
            else { return nil }
            return message
        }
    }

    /// Whether a broadcast was left out that can be read from the store, and there is room for it.
    var canCatchUp: Bool {
        underWay.count <= limit / 2
            && channels.contains { key, state in
                // See `claimChannelsToRead()`.
                state.hasMissed && !waiting.contains { $0.message.channel == key }
            }
    }

    enum Admission {
        case send
        /// The device has had it, or is not subscribed.
        case unneeded
        case noRoom
    }

    /// Handles acknowledgements. Numbers that are not under way are ignored.
    /// - Returns: Whether to read the missed broadcasts from the store, because there is room for them again.
    func acknowledged(_ numbers: [UInt64]) -> Bool {
        var count = 0
        for number in numbers {
            guard let index = underWay.firstIndex(where: { $0.number == number }) else { continue }
            let (_, channel, version) = underWay.remove(at: index)
            count += 1
            guard let version, var state = channels[channel] else { continue }
            state.seen = max(version, state.seen ?? version)
            channels[channel] = state
        }
        return count > 0 && canCatchUp
    }

    /// Returns the device's acknowledgements that the store does not know yet. From now on they count as recorded.
    func drainMarks() -> [SeenBroadcast] {
        var marks: [SeenBroadcast] = []
        for (key, state) in channels {
            guard let seen = state.seen, state.recorded.map({ $0 < seen }) ?? true else { continue }
            channels[key]?.recorded = seen
            let subscription = Subscription(device: device, app: key.list.app, channel: key.id)
            marks.append(SeenBroadcast(subscription: subscription, version: seen))
        }
        return marks
    }
}

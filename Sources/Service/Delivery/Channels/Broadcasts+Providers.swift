package import Notifications
import Rates
import Storage
import Synchronization

// What providers can do with channels. docs/channels.md describes the requests, and the decisions are made here.
extension Broadcasts {
    /// Refuses everything about channels if the service or the app has none.
    func demandChannels(of app: AppID) throws(Rejection) {
        guard limits.channelsPerApp > 0 else { throw .channelsOff }
        guard accounts.current.app(app)?.hasBroadcasts ?? true else { throw .broadcastsOff }
    }

    /// Creates a channel and gives it an identifier.
    package func create(
        _ policy: MessageStoragePolicy, in list: ChannelList
    ) async throws(Rejection) -> BroadcastChannel {
        try demandChannels(of: list.app)
        var random = SystemRandomNumberGenerator()
        let key = ChannelKey(list: list, id: .random(using: &random))
        let channel = BroadcastChannel(key: key, policy: policy, created: clock.time)
        do throws(StoreError) {
            try await channels.create([channel], limit: limits.channelsPerApp).first?.get()
            return channel
        } catch {
            guard error.code == .conflict else { throw Rejection(error) }
            limitExceeded(.channels)
            throw Rejection(.cannotCreateChannelConfig, detail: error.cause)
        }
    }

    /// Returns a channel.
    package func channel(_ key: ChannelKey) async throws(Rejection) -> BroadcastChannel {
        try demandChannels(of: key.list.app)
        let found: [BroadcastChannel?]
        do throws(StoreError) {
            found = try await channels.channels([key])
        } catch {
            throw Rejection(error)
        }
        guard let channel = found.first ?? nil else { throw .unknownChannel(key.id) }
        return channel
    }

    /// Returns channels of an app, in the order of their identifiers.
    /// - Parameter limit: the largest number; nil for all. An app may have more than the present limit allows, because
    ///   an operator can lower it.
    package func channels(
        of list: ChannelList,
        after id: ChannelID? = nil,
        limit: Int? = nil,
    ) async throws(Rejection) -> [BroadcastChannel] {
        try demandChannels(of: list.app)
        do throws(StoreError) {
            return try await channels.channels(of: list, after: id, limit: limit ?? .max)
        } catch {
            throw Rejection(error)
        }
    }

    /// Removes a channel. Nobody is subscribed to it any more.
    package func remove(_ key: ChannelKey) async throws(Rejection) {
        try demandChannels(of: key.list.app)
        let wasThere: Bool
        do throws(StoreError) {
            wasThere = try await channels.remove([key]).first?.get() ?? false
        } catch {
            throw Rejection(error)
        }
        guard wasThere else { throw .unknownChannel(key.id) }
        drop(key)
    }

    /// Removes all channels of an app, because it may have none any more.
    package func removeAll(of app: AppID) async throws(Rejection) {
        for environment in Environment.allCases {
            let list = ChannelList(environment: environment, app: app)
            do throws(StoreError) {
                let keys = try await channels.channels(of: list, after: nil, limit: .max).map(\.key)
                for result in await channels.remove(keys) { _ = try result.get() }
                for key in keys { drop(key) }
            } catch {
                throw Rejection(error)
            }
        }
    }

    /// The clock of the team that owns these apps has advanced: what was counted for their channels is older now.
    package func advanced(_ apps: Set<AppID>, by duration: Duration) {
        let nanoseconds = UInt64(clamping: duration.attoseconds / 1_000_000_000)
        rates.withLock { $0.age(by: nanoseconds) { apps.contains($0.list.app) } }
    }

    /// Sends a notification to the devices that are subscribed to a channel. If the channel keeps its newest broadcast
    /// and this one has not expired, returns when it is stored; otherwise when it is under way.
    @discardableResult
    package func send(_ notification: Notification, to key: ChannelKey) async throws(Rejection) -> BroadcastResult {
        let now = clock.moment
        if wasStopped() { throw .nodeWasStopped }
        let channel = try await check(notification, to: key)
        guard rates.withLock({ $0.admits(key, at: now.uptime.nanoseconds) }) else {
            limitExceeded(.broadcastRate)
            throw Rejection(.tooManyRequests, detail: "Too many broadcasts were sent to this channel.")
        }
        var notification = notification
        if clock.isAnyAdvanced {
            notification.fields.expiration = clock.teamExpiration(
                ofClient: notification.expiration, for: key.list.app)
        }
        record(.accepted, notification, now.time)
        // Storing replaces the channel's broadcast. If this node is late, that one may be newer and come from another node.
        if news != nil, now.uptime.advanced(by: limits.promptStoring) < clock.moment.uptime || wasStopped() {
            throw .lateBroadcast
        }
        let version = try await store(
            notification, to: channel, now: clock.teams.time(now.time, of: key.list.app), accepted: now.uptime)
        if version != nil {
            record(.stored(after: clock.moment.uptime.microseconds(since: now.uptime)), notification, clock.time)
        }
        // The other nodes first, because sending to this node's devices takes longer.
        routes.withLock { $0 }?.broadcast(
            PeerBroadcast(channel: key, notification: notification, version: version))
        let receivers = message(notification, to: key, version: version).map { deliver($0) } ?? 0
        return BroadcastResult(isStored: version != nil, receivers: receivers)
    }

    /// Checks a notification by the rules of the channel, and does not send it. It does not count for the channel's rate.
    /// - Returns: the channel.
    @discardableResult
    package func check(_ notification: Notification, to key: ChannelKey) async throws(Rejection) -> BroadcastChannel {
        let channel = try await channel(key)
        guard accounts.current.app(key.list.app) != nil else { throw .unknownChannel(key.id) }
        if channel.policy == .none, case .at = notification.expiration {
            let detail = "apns-expiration must be 0, because the channel keeps no messages."
            throw Rejection(.badExpirationDate, detail: detail)
        }
        return channel
    }

    /// Sends a message to this node's subscribers, and records that once for all of them: a step for each device would
    /// fill the log.
    /// - Returns: The number of devices.
    @discardableResult
    func deliver(_ message: BroadcastMessage, isStored: Bool = false) -> Int {
        let receivers = fanOut(message, isStored: isStored)
        if receivers > 0 { record(.sent, message.notification, clock.time) }
        return receivers
    }

    private func record(_ step: DeliveryStep, _ notification: Notification, _ time: Timestamp) {
        let subject = NotificationSubject(id: notification.id, address: .unknown, topic: notification.topic)
        log.record(DeliveryEvent(time: time, step: step, subject: subject))
    }

    /// - Returns: nil if it is not to be stored.
    private func store(
        _ notification: Notification,
        to channel: BroadcastChannel,
        now: Timestamp,
        accepted: Uptime,
    ) async throws(Rejection) -> BroadcastVersion? {
        guard channel.policy == .newest else { return nil }
        let retained = now.advanced(by: limits.retention)
        let expires: Timestamp
        switch notification.expiration {
        case .unspecified: expires = retained
        case .immediately: return nil
        case .at(let seconds):
            guard Timestamp(seconds: seconds) > now else { return nil }
            expires = min(Timestamp(seconds: seconds), retained)
        }
        let entry = BroadcastEntry(
            channel: channel.key, notification: notification, expires: expires,
            waited: clock.moment.uptime.duration(since: accepted))
        do throws(StoreError) {
            return try await channels.store([entry]).first?.get()
        } catch {
            guard error.code == .missing else { throw Rejection(error) }
            throw .unknownChannel(channel.key.id)
        }
    }
}

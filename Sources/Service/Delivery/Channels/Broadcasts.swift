package import Notifications
package import Rates
package import Storage
import Synchronization

/// The broadcast channels of all apps: creates them, subscribes devices, and sends what providers broadcast to all
/// connected subscribers (docs/channels.md).
///
/// If a channel keeps its newest broadcast, the broadcast is stored once, and devices that connect or subscribe later
/// get it from the store. A broadcast is first stored and then sent to the subscribers. A device is first added to
/// the subscribers and then reads the store. So whichever of the two happens first, the device does not miss the
/// broadcast.
///
/// If several nodes share the store, each broadcast is sent to the other nodes too, once to each
/// (Broadcasts+Nodes.swift).
package final class Broadcasts: Sendable {
    let channels: any Channels
    let accounts: any Accounts
    let limits: ChannelLimits
    let limitExceeded: @Sendable (Limit) -> Void
    let sent: @Sendable (_ devices: Int) -> Void
    /// Nil if no other node can take this one's devices.
    private let fence: HoldFence?
    /// Whether this node was stopped, and has not renewed its lease since.
    let wasStopped: @Sendable () -> Bool
    let clock: ServiceClock
    let log: any DeliveryLog
    /// What other nodes have changed; nil if no other node uses the store.
    let news: (any ChannelNews)?
    /// The direct way to other nodes; nil if there is none.
    let routes = Mutex<(any PeerRoutes)?>(nil)
    /// The newest broadcast of each channel that another node has sent here directly, as far as the store has not
    /// been asked for it since.
    let sentByOthers = Mutex<[ChannelKey: BroadcastVersion]>([:])
    /// What other nodes have sent here directly, until this node's devices get it.
    let arrivals: AsyncStream<PeerBroadcast>
    let arrival: AsyncStream<PeerBroadcast>.Continuation
    /// Decides by the devices' power; nil if every device counts as awake.
    let switchboard = Mutex<WeakSwitchboard>(WeakSwitchboard())
    let shards: [Shard]
    private let lastNumber = Atomic<UInt64>(0)
    let rates: Mutex<RateTable<ChannelKey>>
    /// The acknowledgements that the store does not know yet.
    private let marks = Mutex(WaitingMarks())

    /// - Parameters:
    ///   - news: what other nodes change in the same store. A device's subscriptions are then read when this node has
    ///     taken the device: whoever takes it calls ``reload(_:)``.
    ///   - fence: closed if other nodes may have taken this one's devices. Nothing is then sent or acknowledged.
    ///   - wasStopped: whether this node was stopped, and has not renewed its lease since (``Mailboxes/wasStopped``).
    ///   - sent: is called with the number of connected devices that each broadcast was sent to, on any thread.
    ///   - limitExceeded: is called if a limit refuses or leaves out something, on any thread.
    package init(
        channels: any Channels,
        news: (any ChannelNews)? = nil,
        accounts: any Accounts,
        log: any DeliveryLog = NoDeliveryLog(),
        limits: ChannelLimits = ChannelLimits(),
        limitExceeded: @escaping @Sendable (Limit) -> Void = { _ in },
        sent: @escaping @Sendable (_ devices: Int) -> Void = { _ in },
        fence: HoldFence? = nil,
        wasStopped: @escaping @Sendable () -> Bool = { false },
        clock: ServiceClock,
    ) {
        self.channels = channels
        self.news = news
        self.accounts = accounts
        self.log = log
        self.limits = limits
        self.limitExceeded = limitExceeded
        self.sent = sent
        self.fence = fence
        self.wasStopped = wasStopped
        self.clock = clock
        rates = Mutex(RateTable(limits.broadcastsPerChannel))
        (arrivals, arrival) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(limits.waitingFromNodes))
        shards = (0..<DeliveryLimits.shards).map { _ in Shard() }
    }

    final class Shard: Sendable {
        let lines = Mutex(BroadcastLines())
    }

    struct WeakSwitchboard {
        weak var local: LocalSwitchboard?
    }

    func shard(_ device: DeviceKey) -> Shard {
        shards[Int(truncatingIfNeeded: device.device.rawValue % UInt64(shards.count))]
    }

    /// Whether the devices' streams may be used.
    var isUsable: Bool { fence?.isOpen ?? true }

    /// Returns a number that no earlier broadcast had, even before the service was last started.
    func nextNumber() -> UInt64 {
        let (product, overflow) = clock.machineTime.milliseconds.multipliedReportingOverflow(
            by: BroadcastMessage.numbersPerMillisecond)
        let fromTime = overflow ? 0 : min(product, BroadcastMessage.firstOtherNumber / 2)
        lastNumber.max(fromTime, ordering: .relaxed)
        return lastNumber.add(1, ordering: .relaxed).newValue
    }
}

// MARK: - Devices

extension Broadcasts {
    /// Attaches a device's stream in place of an older one, and sends the stored broadcasts of its channels.
    package func attach(_ stream: any BroadcastStream, of device: DeviceKey) {
        let marks = shard(device).lines.withLock {
            $0.attach(BroadcastLine(stream, of: device, limit: limits.unacknowledgedPerDevice))
        }
        record(marks)
        // On a shared store, another node may still be changing the subscriptions without telling this one.
        if news == nil { begin(device) }
    }

    /// Reads the subscriptions of a device that has just connected, or that this node has just taken.
    package func begin(_ device: DeviceKey) {
        guard channels.maySubscribe(device) else {
            // Nothing is stored for it. What it subscribes to later does not come to a stream that was just opened.
            shard(device).lines.withLock { $0.line(of: device)?.isAwakeForLoad = false }
            return
        }
        reload(device)
    }

    /// Detaches a stream that has ended. If another one has replaced it, this has no effect.
    package func detach(_ stream: any BroadcastStream, of device: DeviceKey) {
        record(shard(device).lines.withLock { $0.detach(stream, of: device) })
    }

    /// Handles a device's acknowledgements. Numbers that are not a broadcast's are ignored.
    package func acknowledge(_ numbers: [UInt64], by device: DeviceKey) {
        guard isUsable else { return }
        let readsAgain = shard(device).lines.withLock { lines in
            lines.line(of: device)?.acknowledged(numbers) ?? false
        }
        if readsAgain { reload(device) }
    }

    /// Subscribes an app on a device to a channel.
    package func subscribe(_ subscription: Subscription) async throws(Rejection) {
        try demandChannels(of: subscription.app)
        let result = await channels.subscribe(
            [subscription], limit: limits.subscriptionsPerApp, at: clock.time)
        do throws(StoreError) {
            try result.first?.get()
        } catch {
            switch error.code {
            case .missing: throw .unknownChannel(subscription.channel)
            case .conflict:
                limitExceeded(.subscriptions)
                throw Rejection(.tooManyRequests, detail: error.cause)
            default: throw Rejection(error)
            }
        }
        await applySubscriptions(of: subscription.device)
    }

    /// Ends a subscription. If there is none, nothing happens.
    package func unsubscribe(_ subscription: Subscription) async throws(Rejection) {
        do throws(StoreError) {
            try await channels.unsubscribe([subscription]).first?.get()
        } catch {
            throw Rejection(error)
        }
        await applySubscriptions(of: subscription.device)
    }

    /// Returns the channels that a device is subscribed to, in any order.
    package func subscriptions(of device: DeviceKey) async throws(StoreError) -> [SubscribedChannel] {
        channels.maySubscribe(device) ? try await channels.subscriptions(of: device) : []
    }

    /// Replaces the subscriptions of an app on a device. If one of them fails, those before it are changed already.
    package func replaceSubscriptions(
        of destination: Destination,
        by wanted: Set<ChannelID>,
    ) async throws(Rejection) {
        let present: [SubscribedChannel]
        do throws(StoreError) {
            present = try await channels.subscriptions(of: destination.deviceKey)
        } catch {
            throw Rejection(error)
        }
        let ids = Set(present.map(\.channel.key).filter { $0.list.app == destination.app }.map(\.id))
        func subscription(_ id: ChannelID) -> Subscription {
            Subscription(device: destination.deviceKey, app: destination.app, channel: id)
        }
        for id in ids.subtracting(wanted) { try await unsubscribe(subscription(id)) }
        for id in wanted.subtracting(ids).sorted() { try await subscribe(subscription(id)) }
    }

    /// Reads a device's subscriptions from the store again, if the device is connected. Call it after they have
    /// changed, for example because an app was removed.
    package func reload(_ device: DeviceKey) {
        let line = shard(device).lines.withLock { $0.beginLoading(device) }
        guard let line else { return }
        Task { await load(device, on: line) }
    }

    /// Reads a device's subscriptions, and returns when its stream gets what is sent to these channels from now on. Whoever
    /// subscribes may let a provider send as soon as the request is answered.
    package func applySubscriptions(of device: DeviceKey) async {
        if let stream = shard(device).lines.withLock({ $0.beginLoading(device) }) { await load(device, on: stream) }
        await subscriptionsApplied(to: device)
    }

    /// Returns when the subscriptions of a device, if it is connected, are not being read.
    package func subscriptionsApplied(to device: DeviceKey) async {
        while shard(device).lines.withLock({ $0.line(of: device)?.isLoading ?? false }) {
            // The sleep fails only if the task is cancelled.
            guard (try? await Task.sleep(for: Self.pollInterval)) != nil else { return }
        }
    }

    private func load(_ device: DeviceKey, on stream: any BroadcastStream) async {
        let lines = shard(device)
        do throws(StoreError) {
            repeat {
                let pending = pendingMarks(of: device)
                let subscribed = try await channels.subscriptions(of: device).map { subscribed in
                    guard let version = pending[subscribed.channel.key] else { return subscribed }
                    return SubscribedChannel(
                        channel: subscribed.channel, seen: max(version, subscribed.seen ?? version))
                }
                let keys = lines.lines.withLock { $0.subscribe(device, on: stream, to: subscribed) }
                guard let keys else { return }
                // The device is among the subscribers already, so it also gets what is stored from now on.
                let stored = keys.isEmpty ? [] : try await channels.stored(keys)
                let now = clock.moment
                // Nothing may be sent now, and it would not be read again.
                guard isUsable else {
                    throw StoreError(.unavailable, "This node may not use its devices' connections now.")
                }
                for case let broadcast? in stored {
                    let time = clock.teams.time(now.time, of: broadcast.entry.channel.list.app)
                    guard broadcast.entry.expires > time, let message = message(broadcast) else { continue }
                    let isAwake = isAwake(for: message, at: now)
                    // The device's power is asked under the lock, as when a broadcast is sent: the device may wake up
                    // between the answer and what follows from it.
                    lines.lines.withLock {
                        $0.send(message, to: device, on: stream, at: now.time, isAwake: isAwake)
                    }
                }
            } while lines.lines.withLock { $0.continueLoading(device, on: stream) }
        } catch {
            // Without its subscriptions the device would miss broadcasts on this stream. So end the stream: the
            // device then connects again.
            if lines.lines.withLock({ $0.endLoading(device, on: stream) }) { stream.end(.storeUnavailable) }
        }
    }

    /// Reads the subscriptions of all connected devices again.
    func reloadAll() {
        for shard in shards {
            for device in shard.lines.withLock({ $0.devices }) { reload(device) }
        }
    }

    /// Forgets a channel that was removed.
    func drop(_ channel: ChannelKey) {
        for shard in shards { shard.lines.withLock { $0.drop(channel) } }
    }

    /// The number of connected devices that are subscribed to a channel.
    package func connectedSubscribers(of channel: ChannelKey) -> Int {
        shards.reduce(0) { count, shard in count + shard.lines.withLock { $0.subscribers(of: channel) } }
    }
}

// MARK: - What devices have seen

extension Broadcasts {
    private struct WaitingMarks {
        /// The newest acknowledged version by channel.
        var pending: [DeviceKey: [ChannelKey: BroadcastVersion]] = [:]
        var isWriting = false
    }

    /// The largest number of devices whose marks are recorded in one call of the store.
    private static let devicesPerBatch = 64

    /// Records marks. Marks that come meanwhile are gathered and recorded together afterwards. If recording fails, or
    /// the service crashes first, a device gets its channel's newest broadcast again, which "at least once" allows.
    private func record(_ seen: [SeenBroadcast]) {
        guard !seen.isEmpty else { return }
        let begins = marks.withLock { marks in
            for seen in seen {
                marks.pending[seen.subscription.device, default: [:]][seen.subscription.key] = seen.version
            }
            defer { marks.isWriting = true }
            return !marks.isWriting
        }
        guard begins else { return }
        Task {
            while true {
                let batch = marks.withLock { marks in
                    marks.isWriting = !marks.pending.isEmpty
                    return marks.pending.prefix(Self.devicesPerBatch).flatMap { device, versions in
                        versions.map { key, version in
                            SeenBroadcast(
                                subscription: Subscription(device: device, app: key.list.app, channel: key.id),
                                version: version)
                        }
                    }
                }
                guard !batch.isEmpty else { return }
                _ = await channels.mark(batch)
                marks.withLock { marks in
                    for written in batch {
                        let (device, key) = (written.subscription.device, written.subscription.key)
                        guard marks.pending[device]?[key] == written.version else { continue }
                        marks.pending[device]?[key] = nil
                        if marks.pending[device]?.isEmpty ?? false { marks.pending[device] = nil }
                    }
                }
            }
        }
    }

    /// The device's acknowledgements on an earlier stream that the store may not know yet. Call this before reading
    /// the store. Then no acknowledgement is missed: each is found here or in the store.
    private func pendingMarks(of device: DeviceKey) -> [ChannelKey: BroadcastVersion] {
        marks.withLock { $0.pending[device] ?? [:] }
    }

    /// Returns when all that devices have acknowledged so far is recorded, for a shutdown.
    package func flushMarks() async {
        record(shards.flatMap { shard in shard.lines.withLock { $0.drainMarks() } })
        while marks.withLock({ $0.isWriting }) {
            // Sleep in a separate task, because the task of a service that shuts down is cancelled already.
            await Task { try? await Task.sleep(for: Self.pollInterval) }.value
        }
    }

    private static let pollInterval = Duration.milliseconds(2)

    /// Follows what other nodes change, and removes expired broadcasts and the data of deleted apps, until the task is
    /// cancelled.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.removeLeftovers() }
            if let news { group.addTask { await self.follow(news) } }
            group.addTask { for await broadcast in self.arrivals { self.deliver(broadcast) } }
        }
    }

    private func removeLeftovers() async {
        while !Task.isCancelled {
            do {
                while try await channels.removeLeftovers(before: clock.time, limit: limits.sweepBatch)
                    == limits.sweepBatch
                {}
            } catch {
                // This can wait for the next sweep: nothing expired or deleted is delivered in the meantime.
            }
            do {
                try await Task.sleep(for: limits.sweepInterval)
            } catch {
                return
            }
        }
    }
}

extension Rejection {
    static let channelsOff = Rejection(
        .featureNotEnabled, detail: "This service has no broadcast channels: the limit of channels is 0.")

    static let broadcastsOff = Rejection(
        .featureNotEnabled,
        detail: "Broadcast channels are switched off for this app (carillon app change --broadcast on).")

    /// The answer to notifications and broadcasts until the node's lease is renewed.
    static let nodeWasStopped = Rejection(
        .serviceUnavailable,
        detail: "This node was stopped for a while, and has not renewed its lease yet. Send the request again.")

    /// As for broadcasts: another node may have stored a newer one.
    static let lateNotification = Rejection(
        .serviceUnavailable,
        detail:
            "It took so long to look up the device token that a newer notification may have come through another node "
            + "meanwhile. Send this one again if it is still the newest.")

    static let lateBroadcast = Rejection(
        .serviceUnavailable,
        detail:
            "It took so long to handle the broadcast that a newer one may have come through another node meanwhile. "
            + "Send it again if it is still the newest.")

    static func unknownChannel(_ id: ChannelID) -> Rejection {
        Rejection(.channelNotRegistered, detail: "The app has no channel \(id) in this environment.")
    }
}

package import Notifications
package import Storage
import Synchronization

/// The switchboard of a node that shares its store with other nodes. Before it attaches a device's stream, it claims
/// the device in the store. It also delivers what other nodes have stored for the devices of this node.
package final class SharedSwitchboard: Switchboard {
    let local: LocalSwitchboard
    let holds: any DeviceHolds
    private let fence: HoldFence
    private let store: any Mailboxes
    private let pollInterval: Duration
    private let state = Mutex(State())
    /// The direct way to other nodes; nil if there is none.
    let routes = Mutex<(any PeerRoutes)?>(nil)
    let outcomes = Mutex(WeakOutcomes())
    /// The broadcasts to the devices of this node.
    let broadcasts = Mutex<Broadcasts?>(nil)
    private let wakeUps: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// How many devices are claimed or released in one transaction.
    private static let maximumBatch = 500
    /// How many announcements are read at once.
    private static let maximumAnnouncements = 1000

    private struct State {
        /// Streams whose device is being claimed.
        var waiting: [DeviceKey: Waiting] = [:]
        /// The devices in `waiting` that were not yet requested from the store.
        var toClaim: [DeviceKey] = []
        /// The device that gets its line at this moment, with its stream, its newest power, and the reason why the stream
        /// has ended meanwhile, if it has.
        var attaching: (device: DeviceKey, stream: any NotificationStream, power: DevicePower, end: StreamEnd?)?
        /// The newest claims by other nodes of devices that wait.
        var claimedElsewhere: [DeviceKey: UInt64] = [:]
        var held: [DeviceKey: DeviceHold] = [:]
        var toRelease: [DeviceHold] = []
    }

    private struct Waiting {
        let stream: any NotificationStream
        var power: DevicePower
    }

    /// - Parameters:
    ///   - fence: the one that the local switchboard uses too.
    ///   - pollInterval: how often announcements are read. Notifications that other nodes store are delayed by up to this
    ///     time.
    package init(
        _ local: LocalSwitchboard,
        _ holds: any DeviceHolds,
        _ fence: HoldFence,
        _ store: any Mailboxes,
        pollInterval: Duration = .milliseconds(250),
    ) {
        self.local = local
        self.holds = holds
        self.fence = fence
        self.store = store
        self.pollInterval = pollInterval
        (wakeUps, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: Streams

    package func attach(_ stream: any NotificationStream, of device: DeviceKey, power: DevicePower) {
        let older = state.withLock { state in
            let older = state.waiting.updateValue(Waiting(stream: stream, power: power), forKey: device)
            if older == nil { state.toClaim.append(device) }
            return older
        }
        older?.stream.end(.takenOver)
        wake.yield()
    }

    package func detach(_ stream: any NotificationStream, of device: DeviceKey) {
        state.withLock { state in
            if state.waiting[device]?.stream === stream { state.waiting[device] = nil }
            if state.attaching?.stream === stream { state.attaching?.end = .storeUnavailable }
        }
        local.detach(stream, of: device)
        release(device)
    }

    /// Gives the device up if it has no stream here.
    private func release(_ device: DeviceKey) {
        let isReleased = state.withLock { state in
            guard state.waiting[device] == nil, !local.isAttached(device),
                let hold = state.held.removeValue(forKey: device)
            else { return false }
            state.toRelease.append(hold)
            return true
        }
        if isReleased { wake.yield() }
    }

    package func changePower(of device: DeviceKey, to power: DevicePower) {
        state.withLock { state in
            if state.waiting[device] != nil { state.waiting[device]?.power = power }
            if state.attaching?.device == device { state.attaching?.power = power }
        }
        local.changePower(of: device, to: power)
    }

    package func disconnect(_ device: DeviceKey, because end: StreamEnd) {
        let waiting = state.withLock { state in
            if state.attaching?.device == device { state.attaching?.end = end }
            return state.waiting.removeValue(forKey: device)
        }
        waiting?.stream.end(end)
        local.disconnect(device, because: end)
        release(device)
    }

    /// Ends every stream, so that unacknowledged notifications go to their mailboxes.
    package func disconnectAll(because end: StreamEnd) {
        let waiting = state.withLock { state in
            defer { state.waiting = [:] }
            return state.waiting
        }
        for entry in waiting.values { entry.stream.end(end) }
        local.disconnectAll(because: end)
    }

    // MARK: Offers

    /// Uses a direct way to other nodes.
    package func use(_ routes: any PeerRoutes) {
        self.routes.withLock { $0 = routes }
        // A line that reads its mailboxes again may find something newer before it is announced.
        local.beforeUsingMailboxes { [weak self] in self?.refuseEarlier(for: $0, isEnded: false) }
    }

    /// Uses the broadcasts, whose devices this switchboard claims in the store.
    package func use(_ broadcasts: Broadcasts) { self.broadcasts.withLock { $0 = broadcasts } }

    package func report(to receiver: any OfferOutcomes) {
        outcomes.withLock { $0.receiver = receiver }
        local.report(to: self)
    }

    package func offer(_ offer: Offer, now: Moment) -> OfferAnswer {
        let answer = local.offer(offer, now: now)
        guard answer == .returned, let routes = routes.withLock({ $0 }),
            let place = holds.whereabouts[offer.destination.deviceKey]
        else { return answer }
        return routes.offer(offer, epoch: place.epoch, to: place.node) ? .taken : .returned
    }

    package func stored(_ entry: StoredMailboxEntry, offer: OfferID?) {
        local.stored(entry, offer: offer)
        guard let routes = routes.withLock({ $0 }),
            let place = holds.whereabouts[entry.entry.destination.deviceKey]
        else { return }
        routes.stored(entry, offer: offer, epoch: place.epoch, to: place.node)
    }

    // MARK: What the local switchboard does

    package func acknowledge(_ attempts: [UInt64], by device: DeviceKey) { local.acknowledge(attempts, by: device) }
    package func giveUp(_ attempts: [UInt64], to device: DeviceKey) { local.giveUp(attempts, to: device) }

    /// A message that waits at another node because of the device's power may still be sent there.
    package func withdrawn(_ reference: MailboxReference) { local.withdrawn(reference) }

    package func removed(_ destination: Destination) {
        // An offer of another node may be on its way that was made when the registration was still active.
        if local.isAttached(destination.deviceKey) { refuseEarlier(for: [destination], isEnded: true) }
        local.removed(destination)
    }

    /// Only the devices that are connected here.
    package func connected(
        in environment: Environment,
        after device: DeviceID?,
        limit: Int,
    ) async throws(StoreError) -> [ConnectedDevice] {
        local.connected(in: environment, after: device, limit: limit)
    }

    // MARK: The store

    /// Works until the task is cancelled.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { for await _ in self.wakeUps { await self.claimAndRelease() } }
            group.addTask { await self.readAnnouncements() }
        }
    }

    private func claimAndRelease() async {
        while !Task.isCancelled {
            let (claiming, releasing) = state.withLock { state in
                let claiming = Array(state.toClaim.prefix(Self.maximumBatch))
                let releasing = Array(state.toRelease.prefix(Self.maximumBatch))
                state.toClaim.removeFirst(claiming.count)
                state.toRelease.removeFirst(releasing.count)
                return (claiming, releasing)
            }
            guard !claiming.isEmpty || !releasing.isEmpty else { return }
            // If this fails, the device stays marked as held here. That costs an announcement for each notification,
            // until it connects again.
            if !releasing.isEmpty { try? await holds.release(releasing) }
            if !claiming.isEmpty { await claim(claiming) }
        }
    }

    private func claim(_ devices: [DeviceKey]) async {
        let term = holds.holdTerm
        if let claimed = try? await holds.claim(devices), holds.holdTerm == term {
            for hold in claimed { attach(hold, term) }
        } else {
            // Either the store has failed, or the lease has run out, which gives up what was claimed before.
            for device in devices {
                let waiting = state.withLock { state in
                    state.claimedElsewhere[device] = nil
                    return state.waiting.removeValue(forKey: device)
                }
                waiting?.stream.end(.storeUnavailable)
            }
        }
    }

    private func attach(_ hold: DeviceHold, _ term: UInt64) {
        let device = hold.device
        holds.whereabouts.forget(device)
        let waiting = state.withLock { state in
            state.held[device] = hold
            let waiting = state.waiting.removeValue(forKey: device)
            let other = state.claimedElsewhere.removeValue(forKey: device)
            let end = other.flatMap { $0 > hold.epoch ? StreamEnd.takenOver : nil }
            state.attaching = waiting.map { (device, $0.stream, $0.power, end) }
            return waiting
        }
        // The device's connection may have ended meanwhile.
        guard let waiting else { return release(device) }
        local.attach(waiting.stream, of: device, power: waiting.power, after: hold.previousNumber)
        // The device may have reported its power before it had a line.
        var power = waiting.power
        while let newer = state.withLock({ $0.attaching?.power }), newer != power {
            local.changePower(of: device, to: newer)
            power = newer
        }
        // If the hold was given up before the line began, nothing else ends the line.
        let (isHeld, end) = state.withLock { state in
            defer { state.attaching = nil }
            return (state.held[device] == hold, state.attaching?.end)
        }
        guard isHeld, end == nil, holds.holdTerm == term else {
            local.disconnect(device, because: end ?? .storeUnavailable)
            return release(device)
        }
        broadcasts.withLock { $0 }?.begin(device)
    }

    private func readAnnouncements() async {
        // Becomes true if announcements may have been lost.
        var mayHaveMissed = false
        while !Task.isCancelled {
            if let term = fence.newTerm { begin(term) }
            do throws(StoreError) {
                var count = Self.maximumAnnouncements
                while count == Self.maximumAnnouncements, fence.newTerm == nil {
                    let announcements = try await holds.drainAnnouncements(limit: Self.maximumAnnouncements)
                    count = announcements.count
                    await perform(announcements)
                }
                if mayHaveMissed {
                    refuseEarlier(for: nil, isEnded: false)
                    local.readMailboxesAgain()
                }
                mayHaveMissed = false
            } catch {
                mayHaveMissed = true
            }
            // The sleep fails only if the task is cancelled, which ends the loop.
            try? await Task.sleep(for: pollInterval)
        }
    }

    /// Ends all streams, because other nodes took this node for dead. They do not announce to it what they store for its
    /// devices.
    private func begin(_ term: UInt64) {
        disconnectAll(because: .storeUnavailable)
        state.withLock { ($0.held, $0.toRelease) = ([:], []) }
        fence.begin(term)
    }

    /// What ends something comes first, because it does not wait for the store.
    private func perform(_ announcements: [Announcement]) async {
        var changed: [Destination] = []
        for announcement in announcements {
            switch announcement {
            case .changed(let destination):
                if local.isAttached(destination.deviceKey) { changed.append(destination) }
            case .ended(let destination):
                removed(destination)
                // The app's subscriptions ended with it.
                if local.isAttached(destination.deviceKey) { broadcasts.withLock { $0 }?.begin(destination.deviceKey) }
            case .claimed(let device, let epoch):
                let isOlder = state.withLock { state in
                    // The store may have given the device to this node before, and the answer is not there yet.
                    if state.waiting[device] != nil { state.claimedElsewhere[device] = epoch }
                    guard let hold = state.held[device], hold.epoch < epoch else { return false }
                    state.held[device] = nil
                    if state.attaching?.device == device { state.attaching?.end = .takenOver }
                    return true
                }
                if isOlder { local.disconnect(device, because: .takenOver) }
            }
        }
        if !changed.isEmpty { await read(changed) }
    }

    /// Reads what other nodes have stored. If a mailbox cannot be read, ends the device's stream, because the announcement
    /// is not repeated.
    private func read(_ destinations: [Destination]) async {
        refuseEarlier(for: destinations, isEnded: false)
        let broadcasts = broadcasts.withLock { $0 }
        let results = await store.contents(of: destinations)
        for (destination, result) in zip(destinations, results) {
            switch result {
            case .success(let entries) where entries.count >= MailboxBound.pageCount:
                // There may be more.
                local.readMailboxesAgain(of: destination.deviceKey)
            case .success(let entries): for entry in entries { local.stored(entry, offer: nil) }
            case .failure: disconnect(destination.deviceKey, because: .storeUnavailable)
            }
        }
        // A change of the subscriptions is announced in the same way.
        for device in Set(destinations.map(\.deviceKey)) where local.isAttached(device) { broadcasts?.begin(device) }
    }
}

extension SharedSwitchboard {
    /// Whether this node holds a device, under the claim with this epoch.
    func isHeld(_ device: DeviceKey, in epoch: UInt64) -> Bool {
        fence.isOpen && state.withLock { $0.held[device]?.epoch == epoch }
    }

    /// Refuses older offers that are still on their way from other nodes.
    private func refuseEarlier(for destinations: [Destination]?, isEnded: Bool) {
        routes.withLock { $0 }?.refuseEarlier(for: destinations, isEnded: isEnded)
    }
}

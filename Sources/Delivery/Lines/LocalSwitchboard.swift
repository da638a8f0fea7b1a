package import Notifications
import Synchronization

/// The switchboard of a service in one process: it answers at once, and truthfully.
package final class LocalSwitchboard: Switchboard {
    private let mailboxes: any Mailboxes
    private let limits: DeliveryLimits
    private let clock: @Sendable () -> Timestamp
    private let shards: [Shard]
    private let outcomes = Mutex(WeakOutcomes())

    /// - Parameter clock: tells the time, in milliseconds since 1970.
    package init(
        mailboxes: any Mailboxes,
        limits: DeliveryLimits = DeliveryLimits(),
        clock: @escaping @Sendable () -> Timestamp,
    ) {
        self.mailboxes = mailboxes
        self.limits = limits
        self.clock = clock
        shards = (0..<DeliveryLimits.shards).map { _ in Shard() }
    }

    private final class Shard: Sendable {
        let lines = Mutex<[DeviceKey: AttachedLine]>([:])
    }

    private struct WeakOutcomes {
        weak var receiver: (any OfferOutcomes)?
    }

    /// How many devices are connected.
    package var connectedDevices: Int {
        shards.reduce(0) { count, shard in count + shard.lines.withLock { $0.count } }
    }

    package func report(to receiver: any OfferOutcomes) {
        outcomes.withLock { $0.receiver = receiver }
    }

    package func offer(_ offer: Offer) -> OfferAnswer {
        shard(offer.destination.deviceKey).lines.withLock { lines in
            guard let attached = lines[offer.destination.deviceKey] else { return .returned }
            let (answer, action) = attached.line.offer(offer)
            // Sent under the lock, so that two senders' notifications keep the order of their numbers.
            if case .send(let sending) = action { attached.stream.send(sending) }
            return answer
        }
    }

    package func stored(_ entry: StoredMailboxEntry, offer: OfferID?) {
        advance(entry.entry.destination.deviceKey) { $0.stored(entry, offer: offer) }
    }

    package func acknowledge(_ sendings: [UInt64], by device: DeviceKey) {
        advance(device) { $0.acknowledged(sendings) }
    }

    package func attach(_ stream: any NotificationStream, of device: DeviceKey) {
        let now = clock()
        let actions = shard(device).lines.withLock { lines -> [DeviceLine.Action] in
            let older = lines[device]
            older?.stream.end(.takenOver)
            let previous = older?.line.newestNumber ?? 0
            let line = DeviceLine(now: now, after: previous, limit: limits.unacknowledgedPerDevice)
            let attached = AttachedLine(stream: stream, line: line)
            lines[device] = attached
            return (older?.line.end() ?? []) + [attached.line.firstAction]
        }
        perform(actions, for: device)
    }

    package func detach(_ stream: any NotificationStream, of device: DeviceKey) {
        let ended = shard(device).lines.withLock { lines -> [DeviceLine.Action] in
            guard let attached = lines[device], attached.stream === stream else { return [] }
            lines[device] = nil
            return attached.line.end()
        }
        perform(ended, for: device)
    }

    package func disconnect(_ device: DeviceKey, because end: StreamEnd) {
        let ended = shard(device).lines.withLock { lines -> [DeviceLine.Action] in
            guard let attached = lines.removeValue(forKey: device) else { return [] }
            attached.stream.end(end)
            return attached.line.end()
        }
        perform(ended, for: device)
    }

    /// Ends every stream, so that what devices have not acknowledged goes to their mailboxes.
    package func disconnectAll(because end: StreamEnd) {
        for shard in shards {
            for device in shard.lines.withLock({ Array($0.keys) }) { disconnect(device, because: end) }
        }
    }

    private func shard(_ device: DeviceKey) -> Shard {
        shards[Int(truncatingIfNeeded: device.device.rawValue % UInt64(shards.count))]
    }

    /// Lets something happen to a device's line, if it has one, and does what the line then wants done.
    private func advance(_ device: DeviceKey, _ event: (inout DeviceLine) -> [DeviceLine.Action]) {
        let actions = shard(device).lines.withLock { lines -> [DeviceLine.Action] in
            guard let attached = lines[device] else { return [] }
            let actions = event(&attached.line)
            for case .send(let sending) in actions { attached.stream.send(sending) }
            return actions
        }
        perform(actions, for: device)
    }

    /// Does what is left to do once the lock is given back: sendings are gone already.
    private func perform(_ actions: [DeviceLine.Action], for device: DeviceKey) {
        guard !actions.isEmpty else { return }
        let receiver = outcomes.withLock { $0.receiver }
        var removals: [MailboxReference] = []
        for action in actions {
            switch action {
            case .send: break
            case .readMailboxes(let epoch): readMailboxes(of: device, epoch: epoch)
            case .remove(let reference): removals.append(reference)
            case .acknowledged(let offer, let destination): receiver?.acknowledged(offer, of: destination)
            case .returned(let offer, let destination): receiver?.returned(offer, of: destination)
            }
        }
        if !removals.isEmpty { remove(removals) }
    }

    private func readMailboxes(of device: DeviceKey, epoch: UInt64) {
        Task {
            let entries: [StoredMailboxEntry]
            do {
                entries = try await mailboxes.entries(of: device)
            } catch {
                // What cannot be read stays where it is; without it the line would be out of order, so it ends, and
                // the device connects again.
                disconnect(device, because: .storeUnavailable)
                return
            }
            let now = clock()
            advance(device) { $0.read(entries, epoch: epoch, now: now) }
        }
    }

    private func remove(_ references: [MailboxReference]) {
        Task {
            // A removal that fails leaves a notification that was delivered: it is delivered again, which at least
            // once allows.
            _ = await mailboxes.remove(references)
        }
    }
}

/// A device's stream and what is known of it.
private final class AttachedLine {
    let stream: any NotificationStream
    var line: DeviceLine

    init(stream: any NotificationStream, line: consuming DeviceLine) {
        self.stream = stream
        self.line = line
    }
}

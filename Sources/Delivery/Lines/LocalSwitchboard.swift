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
        let lines = Mutex(Lines())
    }

    private struct WeakOutcomes {
        weak var receiver: (any OfferOutcomes)?
    }

    /// How many devices are connected.
    package var connectedDevices: Int {
        shards.reduce(0) { count, shard in count + shard.lines.withLock { $0.attached.count } }
    }

    package func report(to receiver: any OfferOutcomes) {
        outcomes.withLock { $0.receiver = receiver }
    }

    package func offer(_ offer: Offer) -> OfferAnswer {
        shard(offer.destination.deviceKey).lines.withLock { lines in
            guard let attached = lines.attached[offer.destination.deviceKey] else { return .returned }
            let (answer, action) = attached.line.offer(offer)
            // Sent under the lock, so that two senders' notifications keep the order of their numbers.
            if case .send(let sending) = action { attached.stream.send(sending) }
            return answer
        }
    }

    package func stored(_ entry: StoredMailboxEntry, offer: OfferID?) {
        let now = clock()
        let device = entry.entry.destination.deviceKey
        if let offer {
            let reference = MailboxReference(destination: entry.entry.destination, version: entry.version)
            shard(device).lines.withLock { $0.stored(reference, offer: offer, of: device) }
        }
        advance(device) { $0.stored(entry, offer: offer, now: now) }
    }

    package func acknowledge(_ sendings: [UInt64], by device: DeviceKey) {
        advance(device) { $0.acknowledged(sendings) }
        let late = shard(device).lines.withLock { $0.acknowledgedLate(sendings, by: device) }
        perform(late, for: device)
    }

    package func attach(_ stream: any NotificationStream, of device: DeviceKey) {
        let now = clock()
        let actions = shard(device).lines.withLock { lines -> [DeviceLine.Action] in
            lines.attached[device]?.stream.end(.takenOver)
            let ended = lines.end(device, now: now)
            return ended + [lines.begin(device, stream, now: now, limit: limits.unacknowledgedPerDevice)]
        }
        perform(actions, for: device)
    }

    package func detach(_ stream: any NotificationStream, of device: DeviceKey) {
        let now = clock()
        let ended = shard(device).lines.withLock { lines -> [DeviceLine.Action] in
            guard lines.attached[device]?.stream === stream else { return [] }
            return lines.end(device, now: now)
        }
        perform(ended, for: device)
    }

    package func disconnect(_ device: DeviceKey, because end: StreamEnd) {
        self.end(device, because: end) { _ in true }
    }

    /// Ends every stream, so that what devices have not acknowledged goes to their mailboxes.
    package func disconnectAll(because end: StreamEnd) {
        for shard in shards {
            for device in shard.lines.withLock({ Array($0.attached.keys) }) { disconnect(device, because: end) }
        }
    }

    private func shard(_ device: DeviceKey) -> Shard {
        shards[Int(truncatingIfNeeded: device.device.rawValue % UInt64(shards.count))]
    }

    /// Lets something happen to a device's line, if it has one, and does what the line then wants done.
    private func advance(_ device: DeviceKey, _ event: (inout DeviceLine) -> [DeviceLine.Action]) {
        let actions = shard(device).lines.withLock { lines -> [DeviceLine.Action] in
            guard let attached = lines.attached[device] else { return [] }
            let actions = event(&attached.line)
            for case .send(let sending) in actions { attached.stream.send(sending) }
            return actions
        }
        perform(actions, for: device)
    }

    /// Ends a device's stream if its line is such.
    private func end(_ device: DeviceKey, because end: StreamEnd, where condition: (borrowing DeviceLine) -> Bool) {
        let now = clock()
        let ended = shard(device).lines.withLock { lines -> [DeviceLine.Action] in
            guard let attached = lines.attached[device], condition(attached.line) else { return [] }
            attached.stream.end(end)
            return lines.end(device, now: now)
        }
        perform(ended, for: device)
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
                // the device connects again. If it has done so already, the reading is not the new line's.
                end(device, because: .storeUnavailable) { $0.isReading(epoch: epoch) }
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

/// The lines of the devices of one shard.
private struct Lines {
    private(set) var attached: [DeviceKey: AttachedLine] = [:]
    /// The highest number of any line that has ended. Each line begins above it, even within the same millisecond or
    /// after the clock was set back: a late acknowledgement must not mean a sending of the device's next stream.
    private var newestNumber: UInt64 = 0
    /// What each device's last stream left unacknowledged.
    private var ended: [DeviceKey: EndedSendings] = [:]

    /// How many are kept before those that are over are looked for.
    private static let sweepAt = 1024

    /// - Returns: What the new line does first.
    mutating func begin(
        _ device: DeviceKey,
        _ stream: any NotificationStream,
        now: Timestamp,
        limit: Int,
    ) -> DeviceLine.Action {
        let line = AttachedLine(stream: stream, line: DeviceLine(now: now, after: newestNumber, limit: limit))
        attached[device] = line
        return line.line.firstAction
    }

    /// - Returns: What comes back from the line, if there was one.
    mutating func end(_ device: DeviceKey, now: Timestamp) -> [DeviceLine.Action] {
        guard let gone = attached.removeValue(forKey: device) else { return [] }
        newestNumber = max(newestNumber, gone.line.newestNumber)
        if ended.count >= Self.sweepAt { ended = ended.filter { $0.value.expires > now } }
        ended[device] = gone.line.underWayCount > 0 ? EndedSendings(gone.line.underWay, now: now) : nil
        return gone.line.end()
    }

    mutating func stored(_ reference: MailboxReference, offer: OfferID, of device: DeviceKey) {
        ended[device]?.stored(reference, offer: offer)
    }

    mutating func acknowledgedLate(_ numbers: [UInt64], by device: DeviceKey) -> [DeviceLine.Action] {
        ended[device]?.acknowledged(numbers) ?? []
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

package import Notifications
package import Rates
import Synchronization

/// The switchboard for the devices of this process. It answers at once, and its answers are always right.
package final class LocalSwitchboard: Switchboard {
    private let mailboxes: any Mailboxes
    private let numbering: AttemptNumbering
    private let log: any DeliveryLog
    private let limitExceeded: @Sendable (Limit) -> Void
    private let clock: @Sendable () -> Moment
    /// Nil if no other node can take this one's devices.
    private let fence: HoldFence?
    private let shards: [Shard]
    private let outcomes = Mutex(WeakOutcomes())
    /// Called before a line uses what was found in its mailboxes.
    private let found = Mutex<(@Sendable ([Destination]) -> Void)?>(nil)
    /// Sends the broadcasts that waited for the device to be awake.
    private let releaseBroadcasts = Mutex<(@Sendable (DeviceKey) -> Void)?>(nil)
    private let wakeUps: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// Creates a switchboard.
    /// - Parameters:
    ///   - numbering: chooses the numbers of delivery attempts. Without it, they may be smaller than those of an
    ///     earlier start if the clock was set back.
    ///   - limitExceeded: called on any thread if a device has too many unacknowledged or deferred notifications.
    ///   - fence: closed if other nodes may have taken this one's devices. Nothing is then sent or acknowledged.
    ///   - clocks: the clocks of teams, by which notifications expire.
    ///   - clock: returns the time.
    package init(
        mailboxes: any Mailboxes,
        numbering: AttemptNumbering = .unkept,
        log: any DeliveryLog = NoDeliveryLog(),
        limits: DeliveryLimits = DeliveryLimits(),
        limitExceeded: @escaping @Sendable (Limit) -> Void = { _ in },
        fence: HoldFence? = nil,
        clocks: TeamClocks = TeamClocks(),
        clock: @escaping @Sendable () -> Moment,
    ) {
        self.mailboxes = mailboxes
        self.numbering = numbering
        self.log = log
        self.limitExceeded = limitExceeded
        self.fence = fence
        self.clock = clock
        shards = (0..<DeliveryLimits.shards).map { _ in Shard(limits: limits, clocks: clocks) }
        (wakeUps, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    private final class Shard: Sendable {
        let lines: Mutex<Lines>

        init(limits: DeliveryLimits, clocks: TeamClocks) { lines = Mutex(Lines(limits: limits, clocks: clocks)) }
    }

    /// The number of connected devices.
    package var connectedDevices: Int {
        shards.reduce(0) { count, shard in count + shard.lines.withLock { $0.attached.count } }
    }

    package func connected(
        in environment: Environment,
        after device: DeviceID?,
        limit: Int,
    ) -> [ConnectedDevice] {
        var connected: [ConnectedDevice] = []
        var last = device
        while connected.count < limit {
            var page = FirstInOrder<DeviceID>(limit - connected.count)
            for shard in shards {
                shard.lines.withLock { lines in
                    for key in lines.attached.keys where key.environment == environment {
                        if last.map({ $0 < key.device }) ?? true { page.insert(key.device) }
                    }
                }
            }
            guard let newest = page.elements.last else { break }
            last = newest
            for device in page.elements {
                let key = DeviceKey(environment: environment, device: device)
                // The device may have disconnected meanwhile. If so, the loop adds another one to the page.
                if let device = shard(key).lines.withLock({ $0.connected(key) }) { connected.append(device) }
            }
        }
        return connected
    }

    /// Returns the devices among these that are connected here, for another node.
    package func connected(among devices: [DeviceKey]) -> [ConnectedDevice] {
        // The lease has run out: other nodes may have taken the devices.
        guard isUsable else { return [] }
        return devices.compactMap { device in shard(device).lines.withLock { $0.connected(device) } }
    }

    /// Whether the device has a stream here.
    func isAttached(_ device: DeviceKey) -> Bool {
        shard(device).lines.withLock { $0.attached[device] != nil }
    }

    package func report(to receiver: any OfferOutcomes) {
        outcomes.withLock { $0.receiver = receiver }
    }

    /// Sets a function that is called with the destinations of the mailboxes that are not empty, before a line uses their
    /// contents.
    func beforeUsingMailboxes(_ perform: @escaping @Sendable ([Destination]) -> Void) {
        found.withLock { $0 = perform }
    }

    /// Sets a function that is called with a device when the broadcasts that had to wait may be sent to it.
    func onRelease(_ perform: @escaping @Sendable (DeviceKey) -> Void) { releaseBroadcasts.withLock { $0 = perform } }

    /// Returns whether a broadcast may be sent to a device now, because of the device's power.
    func admitsBroadcast(_ notification: Notification, to device: DeviceKey, now: Moment) -> Bool {
        let (isAdmitted, isFirstDue) = shard(device).lines.withLock { lines in
            guard let attached = lines.attached[device] else { return (true, false) }
            let isAdmitted = attached.line.admitsBroadcast(notification, now: now)
            return (isAdmitted, lines.schedule(attached, of: device))
        }
        if isFirstDue { wake.yield() }
        return isAdmitted
    }

    package func offer(_ offer: Offer, now: Moment) -> OfferAnswer {
        guard isUsable else { return .returned }
        let device = offer.destination.deviceKey
        let (offered, isFirstDue) = shard(device).lines.withLock { lines -> (DeviceLine.Offered, Bool) in
            guard let attached = lines.attached[device] else { return (.returned, false) }
            let offered = attached.line.offer(offer, now: now, silents: &lines.silents)
            // Send while holding the lock, so that the notifications of several senders keep the order of their
            // numbers.
            for case .send(let attempt) in offered.first { send(attempt, on: attached, now) }
            if let attempt = offered.attempt { send(attempt, on: attached, now) }
            return (offered, lines.schedule(attached, of: device))
        }
        if let limit = offered.limitExceeded { limitExceeded(limit) }
        if isFirstDue { wake.yield() }
        if !offered.first.isEmpty { perform(offered.first, for: device, now) }
        switch offered.then {
        case .read(let request): readMailboxes(of: device, request)
        case .record(let step, let subject): log.record(DeliveryEvent(time: now.time, step: step, subject: subject))
        case nil: break
        }
        return offered.answer
    }

    /// Whether the devices' streams may be used.
    private var isUsable: Bool { fence?.isOpen ?? true }

    /// Offers a notification of another node.
    func offer(_ offer: Offer) -> OfferAnswer {
        let answer = self.offer(offer, now: clock())
        if answer == .returned { refused(offer) }
        return answer
    }

    /// Records that another node's offer was not taken. One with a single attempt has had it.
    func refused(_ offer: Offer) {
        guard offer.id == nil else { return }
        let subject = NotificationSubject(offer.notification, to: offer.destination)
        log.record(DeliveryEvent(time: clock().time, step: .discarded(.oneAttempt), subject: subject))
    }

    package func stored(_ entry: StoredMailboxEntry, offer: OfferID?) {
        guard isUsable else { return }
        let device = entry.entry.destination.deviceKey
        if let offer {
            let reference = MailboxReference(destination: entry.entry.destination, version: entry.version)
            shard(device).lines.withLock { $0.stored(reference, offer: offer, of: device) }
        }
        advance(device) { $0.stored(entry, offer: offer, now: $2, silents: &$1) }
    }

    package func acknowledge(_ attempts: [UInt64], by device: DeviceKey) {
        guard isUsable else { return }
        let now = clock()
        let (acknowledged, isFirstDue) = shard(device).lines.withLock { $0.acknowledged(attempts, by: device) }
        if isFirstDue { wake.yield() }
        // All lines share the receiver's lock, so take it only if there is something to report.
        let receiver = acknowledged.attempts.isEmpty ? nil : outcomes.withLock { $0.receiver }
        var removals: [MailboxReference] = []
        for attempt in acknowledged.attempts {
            let step = DeliveryStep.acknowledged(after: now.uptime.microseconds(since: attempt.sent))
            log.record(DeliveryEvent(time: now.time, step: step, subject: attempt.subject))
            if let offer = attempt.offer { receiver?.acknowledged(offer, of: attempt.destination) }
            if let reference = attempt.reference { removals.append(reference) }
        }
        if !removals.isEmpty { mailboxes.removeSoon(removals) }
        if let request = acknowledged.reading { readMailboxes(of: device, request) }
    }

    package func giveUp(_ attempts: [UInt64], to device: DeviceKey) {
        advance(device) { line, _, _ in line.givenUp(attempts) }
    }

    package func changePower(of device: DeviceKey, to power: DevicePower) {
        advance(device) { line, silents, now in line.changed(power, now: now, silents: &silents) }
    }

    package func removed(_ destination: Destination) {
        advance(destination.deviceKey) { line, _, _ in line.removed(destination) }
    }

    package func withdrawn(_ reference: MailboxReference) {
        advance(reference.destination.deviceKey) { line, _, _ in line.withdrawn(reference) }
    }

    package func attach(_ stream: any NotificationStream, of device: DeviceKey, power: DevicePower) {
        attach(stream, of: device, power: power, after: 0)
    }

    /// Attaches a stream.
    /// - Parameter previous: the greatest number that another node may have given the device. The clock of that node
    ///   may be ahead, so the stream's attempts begin above this number.
    package func attach(
        _ stream: any NotificationStream,
        of device: DeviceKey,
        power: DevicePower,
        after previous: UInt64,
    ) {
        let now = clock()
        let actions = shard(device).lines.withLock { lines -> [DeviceLine.Action] in
            lines.attached[device]?.stream.end(.takenOver)
            let ended = lines.end(device, now: now)
            let floor = max(previous, numbering.floor(at: now.time))
            return ended + [.read(lines.begin(device, stream, power: power, after: floor, now: now))]
        }
        perform(actions, for: device, now)
    }

    package func attachNew(_ stream: any NotificationStream, of device: DeviceKey, power: DevicePower) {
        let now = clock()
        shard(device).lines.withLock { lines in
            lines.beginNew(device, stream, power: power, after: numbering.floor(at: now.time), now: now)
        }
    }

    package func detach(_ stream: any NotificationStream, of device: DeviceKey) {
        let now = clock()
        let ended = shard(device).lines.withLock { lines -> [DeviceLine.Action] in
            guard lines.attached[device]?.stream === stream else { return [] }
            return lines.end(device, now: now)
        }
        perform(ended, for: device, now)
    }

    package func disconnect(_ device: DeviceKey, because end: StreamEnd) {
        self.end(device, because: end) { _ in true }
    }

    /// Makes every line read its mailboxes again, because a failed node may have stored something without an
    /// announcement.
    package func readMailboxesAgain() {
        for shard in shards {
            for device in shard.lines.withLock({ Array($0.attached.keys) }) {
                advance(device) { line, _, _ in line.mayHaveMissed() }
            }
        }
    }

    /// Makes a device's line read its mailboxes again.
    func readMailboxesAgain(of device: DeviceKey) {
        advance(device) { line, _, _ in line.mayHaveMissed() }
    }

    /// Ends every stream, so that unacknowledged notifications go to their mailboxes.
    package func disconnectAll(because end: StreamEnd) {
        for shard in shards {
            for device in shard.lines.withLock({ Array($0.attached.keys) }) { disconnect(device, because: end) }
        }
    }

    /// The clock of the team that owns these apps has advanced. Call ``tick()`` afterwards.
    package func advanced(_ apps: Set<AppID>, by duration: Duration) {
        for shard in shards { shard.lines.withLock { $0.advanced(apps, by: duration) } }
    }

    /// Sends the notifications whose waiting time has passed.
    package func tick() {
        let now = clock()
        for shard in shards {
            for device in shard.lines.withLock({ $0.drainDue(now: now.uptime) }) {
                advance(device) { line, silents, now in line.tick(now: now, silents: &silents) }
            }
        }
    }

    /// Sends notifications whose waiting time has passed, until the task is cancelled. It wakes up only while some
    /// notification has a waiting time.
    package func run() async {
        for await _ in wakeUps {
            while shards.contains(where: { $0.lines.withLock { $0.firstDue != nil } }) {
                do {
                    try await Task.sleep(for: Self.tickInterval)
                } catch {
                    return
                }
                tick()
            }
        }
    }

    /// How exactly bursts are timed. They are half a minute apart, so this is exact enough.
    private static let tickInterval = Duration.milliseconds(250)

    private func shard(_ device: DeviceKey) -> Shard {
        shards[Int(truncatingIfNeeded: device.device.rawValue % UInt64(shards.count))]
    }

    /// Applies an event to a device's line, if it has one, and performs the resulting actions.
    private func advance(
        _ device: DeviceKey,
        _ event: (inout DeviceLine, inout DeviceLine.Silents, Moment) -> [DeviceLine.Action],
    ) {
        guard isUsable else { return }
        let now = clock()
        let (actions, isFirstDue) = shard(device).lines.withLock { lines -> ([DeviceLine.Action], Bool) in
            guard let attached = lines.attached[device] else { return ([], false) }
            let actions = event(&attached.line, &lines.silents, now)
            for case .send(let attempt) in actions { send(attempt, on: attached, now) }
            return (actions, lines.schedule(attached, of: device))
        }
        if isFirstDue { wake.yield() }
        perform(actions, for: device, now)
    }

    private func send(_ attempt: DeliveryAttempt, on attached: AttachedLine, _ now: Moment) {
        let subject = NotificationSubject(attempt.notification, to: attempt.destination)
        log.record(DeliveryEvent(time: now.time, step: .sent, subject: subject))
        if attempt.isDuplicate { log.record(DeliveryEvent(time: now.time, step: .duplicate, subject: subject)) }
        attached.stream.send(attempt)
        // A line may use up the numbers that were reserved when it began.
        if numbering.needsReservation(for: attempt.number) {
            Task { await numbering.reserve(from: attempt.number, at: now.time) }
        }
    }

    /// Ends a device's stream if its line meets the condition.
    private func end(_ device: DeviceKey, because end: StreamEnd, where condition: (borrowing DeviceLine) -> Bool) {
        let now = clock()
        let ended = shard(device).lines.withLock { lines -> [DeviceLine.Action] in
            guard let attached = lines.attached[device], condition(attached.line) else { return [] }
            attached.stream.end(end)
            return lines.end(device, now: now)
        }
        perform(ended, for: device, now)
    }

    /// Carries out the actions after the lock was released. The attempts among them were sent before.
    private func perform(_ actions: [DeviceLine.Action], for device: DeviceKey, _ now: Moment) {
        guard !actions.isEmpty else { return }
        var removals: [MailboxReference] = []
        // Read the receiver only if there is something to report, and only once, because all lines share its lock.
        lazy var receiver = outcomes.withLock { $0.receiver }
        for action in actions {
            switch action {
            case .send: break
            case .read(let request): readMailboxes(of: device, request)
            case .remove(let reference): removals.append(reference)
            case .releaseBroadcasts: releaseBroadcasts.withLock { $0 }?(device)
            case .returned(let offer, let destination): receiver?.returned(offer, of: destination)
            case .record(let step, let subject): log.record(DeliveryEvent(time: now.time, step: step, subject: subject))
            }
        }
        if !removals.isEmpty { mailboxes.removeSoon(removals) }
    }

    private func readMailboxes(of device: DeviceKey, _ request: DeviceLine.ReadRequest) {
        let epoch = request.epoch
        Task {
            // Reserve numbers now, because a line sends nothing before its first reading has ended.
            await numbering.reserve(from: epoch, at: clock().time)
            let page: MailboxPage
            do {
                page = try await mailboxes.page(of: device, after: request.after)
            } catch {
                // The mailboxes could not be read, so notifications would come out of order. End the line; the device
                // connects again. If it has done so already, this reading belongs to the old line and changes
                // nothing.
                end(device, because: .storeUnavailable) { $0.isReading(epoch: epoch) }
                return
            }
            // Nothing may be sent now. The line would wait for its mailboxes for ever.
            guard isUsable else {
                end(device, because: .storeUnavailable) { $0.isReading(epoch: epoch) }
                return
            }
            if !page.entries.isEmpty, let found = found.withLock({ $0 }) {
                found(page.entries.map(\.entry.destination))
            }
            advance(device) { $0.read(page, epoch: epoch, now: $2, silents: &$1) }
        }
    }
}

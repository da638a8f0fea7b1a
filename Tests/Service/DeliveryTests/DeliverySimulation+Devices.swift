@testable import Delivery
import Notifications
import Rates

/// Devices and their streams, with what the courier and `LocalSwitchboard` do.
extension DeliverySimulation {
    final class AttachedLine {
        var line: DeviceLine
        let stream: Stream
        let epoch: UInt64
        /// The epoch in which the node has taken the device.
        var hold: UInt64 = 0
        /// The power state that the device has reported.
        var power = DevicePower.low

        init(_ line: consuming DeviceLine, _ stream: Stream) {
            epoch = line.newestNumber
            self.line = line
            self.stream = stream
        }
    }

    /// One connection of a device.
    final class Stream {
        /// The node of the connection.
        let node: Int
        /// Whether the device still has the connection. The courier may learn of its end later.
        var isOpen = true
        var transit: [DeliveryAttempt] = []
        /// The numbers of the attempts that the device has received on it.
        var received: [UInt64] = []
        /// The newest notification for each app and each provider's connection that was sent on this stream, and all
        /// notifications that were.
        var newestSent: [AppID: [Connection: UInt64]] = [:]
        var sent: Set<UInt64> = []
        /// Notifications up to this number may be sent to a sleeping device, because there was a reason to wake it.
        var releasedUpTo: UInt64 = .max
        /// Whether the line reads its mailboxes to send everything in them.
        var isReleasing = true
        /// Whether the line reads its mailboxes because a waiting time has passed.
        var isTicking = false
        var lastBurst = Timestamp(milliseconds: 0)

        init(to node: Int) { self.node = node }
    }

    final class Device {
        let key: DeviceKey
        var stream: Stream?
        /// Streams that have ended without the courier knowing it yet.
        var gone: [Stream] = []
        /// Acknowledgements that are under way.
        var acknowledgements: [[UInt64]] = []
        var newestNumber: UInt64 = 0
        var lastNode: Int?

        init(_ key: DeviceKey) { self.key = key }

        var isBusy: Bool {
            !gone.isEmpty || !acknowledgements.isEmpty
                || stream.map { !$0.transit.isEmpty || !$0.received.isEmpty } == true
        }
    }

    // MARK: Connections

    /// Whether the device has a connection, and its node knows of it.
    func isConnected(_ device: Device) -> Bool {
        guard let stream = device.stream else { return false }
        return nodes[stream.node].lines[device.key]?.stream === stream
    }

    /// Ends a connection. Everything under way on it is lost.
    func lose(_ stream: Stream, of device: Device) {
        stream.isOpen = false
        stream.transit = []
        if device.stream === stream { device.stream = nil }
    }

    func connect(_ device: Device) {
        // A node that cannot take the device's lease refuses the connection.
        guard let node = nodeToConnect(device) else { return }
        device.lastNode = node.number
        if let old = device.stream {
            old.isOpen = false
            device.gone.append(old)
        }
        let stream = Stream(to: node.number)
        device.stream = stream
        if fault == .readsBeforeAttaching {
            node.calls.append(.attaching(device.key, stream, snapshot(of: device.key)))
        } else {
            attach(stream, to: device.key, at: node, reading: nil)
        }
    }

    /// A device often comes back to the same node.
    private func nodeToConnect(_ device: Device) -> Node? {
        if hasStalls, chance(50), let last = device.lastNode, nodes[last].isReachable { return nodes[last] }
        return nodes.filter(\.isReachable).randomElement(using: &random)
    }

    /// - Parameter entries: what was read before attaching, which is the wrong order.
    func attach(_ stream: Stream, to device: DeviceKey, at node: Node, reading entries: [StoredMailboxEntry]?) {
        let older = node.lines[device]
        let power: DevicePower = fault == .wakesDevices ? .awake : .low
        let attached = AttachedLine(line(of: device, at: node, after: older, power: power), stream)
        stream.lastBurst = now
        node.lines[device] = attached
        takeLease(attached, of: device, at: node)
        let returned = older?.line.end() ?? []
        if let entries {
            node.startThread(
                returned.map { .line($0, device) }
                    + performed(attached, device, node) {
                        $0.read(entries, epoch: attached.epoch, now: moment, silents: &node.silents)
                    })
        } else {
            node.startThread((returned + [.read(attached.line.firstReading)]).map { .line($0, device) })
        }
    }

    private func line(of device: DeviceKey, at node: Node, after older: AttachedLine?, power: DevicePower) -> DeviceLine
    {
        guard fault != .numbersStartAgain else {
            return DeviceLine(now: Timestamp(milliseconds: 0), after: 0, limits: limits, power: power)
        }
        var previous = older?.line.newestNumber ?? node.newestNumbers[device] ?? 0
        guard isCluster else { return DeviceLine(now: now, after: previous, limits: limits, power: power) }
        if fault != .numbersByClock { previous = max(previous, floors[device] ?? 0) }
        return DeviceLine(now: now.advanced(by: node.skew), after: previous, limits: limits, power: power)
    }

    /// Takes the device's lease in the store. The node that had it before is told.
    private func takeLease(_ attached: AttachedLine, of device: DeviceKey, at node: Node) {
        guard isCluster else { return }
        // The number has to be greater than all numbers that any line uses.
        floors[device] = attached.epoch + 1 << 20
        if let lease = leases[device], lease.node != node.number {
            messages.append(
                Message(from: node.number, to: lease.node, device: device, content: .leaseLost(lease.stream)))
        }
        attached.hold = epochs[device, default: 0] + 1
        epochs[device] = attached.hold
        leases[device] = Lease(node: node.number, epoch: attached.hold, stream: attached.stream)
    }

    func breakConnection() {
        guard let device = devices.randomElement(using: &random), let stream = device.stream else { return }
        // Some attempts that were under way have arrived.
        while !stream.transit.isEmpty && chance(50) { receive(device, stream) }
        stream.isOpen = false
        stream.transit = []
        device.stream = nil
        device.gone.append(stream)
    }

    /// The courier learns that a stream has ended.
    func detachStep() {
        guard let device = devices.randomElement(using: &random), !device.gone.isEmpty else { return }
        let stream = device.gone.remove(at: .random(in: 0..<device.gone.count, using: &random))
        detach(stream, of: device.key)
    }

    func detach(_ stream: Stream, of device: DeviceKey) {
        let node = nodes[stream.node]
        guard let attached = node.lines[device], attached.stream === stream else { return }
        node.lines[device] = nil
        node.newestNumbers[device] = attached.line.newestNumber
        if leases[device]?.stream === stream, node.isReachable { leases[device] = nil }
        let actions = attached.line.end()
        node.startThread(actions.map { .line($0, device) })
    }

    // MARK: The courier

    /// A node receives an offer.
    func take(_ offer: Offer, _ node: Node) -> OfferAnswer {
        let device = offer.destination.deviceKey
        guard let attached = node.lines[device] else { return .returned }
        forgetSilents(node)
        // A line asserts it too, and would end the test of the defect that makes it happen.
        if let id = offer.id, hasOffer(id, attached.line) {
            problems.append("Two offers have the name \(id).")
            return .returned
        }
        if fault == .discardsSingleAttempts, offer.id == nil, attached.line.waiting[offer.destination.mailbox] != nil {
            return checkSingleAttempt(offer, .returned, on: attached.line)
        }
        let offered = attached.line.offer(offer, now: moment, silents: &node.silents)
        if offer.id == nil { _ = checkSingleAttempt(offer, offered.answer, on: attached.line) }
        if offer.notification.urgency == .immediate, offered.answer == .taken { recordReason(attached) }
        for case .send(let attempt) in offered.first { send(attempt, attached, node) }
        for action in offered.first where !action.isSending { node.startThread([.line(action, device)]) }
        if let attempt = offered.attempt { send(attempt, attached, node) }
        if case .read(let request) = offered.then { node.calls.append(.reading(device, epoch: request.epoch)) }
        return offered.answer
    }

    private func hasOffer(_ id: OfferID, _ line: borrowing DeviceLine) -> Bool {
        var isUnderWay = false
        line.underWay.forEach { if $0.offer == id { isUnderWay = true } }
        return isUnderWay || line.deferred.contains { $0.offer == id } || line.held.contains { $0.offer.id == id }
    }

    private func forgetSilents(_ node: Node) {
        if fault == .countsNoSilents { node.silents = DeviceLine.Silents(limits.silentsPerApp) }
    }

    /// Records that there was a reason to wake the device.
    private func recordReason(_ attached: AttachedLine) {
        attached.stream.releasedUpTo = max(attached.stream.releasedUpTo, UInt64(records.count))
        if attached.line.isReading(epoch: attached.epoch) { attached.stream.isReleasing = true }
    }

    /// In a mailbox that keeps more, an urgent notification is a reason to send what comes before it. If there is no room
    /// then, it is sent later.
    private func recordReason(_ attached: AttachedLine, urgentAmong entries: [StoredMailboxEntry]) {
        let isUrgent = entries.contains {
            $0.version.isKept && $0.entry.notification.urgency == .immediate && $0.entry.expires > now
        }
        if isUrgent { recordReason(attached) }
    }

    /// The node reads the mailboxes of all its devices again.
    func readAgain(_ node: Node) {
        for device in devices {
            guard let attached = node.lines[device.key] else { continue }
            node.startThread(performed(attached, device.key, node) { $0.mayHaveMissed() })
        }
    }

    // MARK: Power and time

    func powerStep() {
        guard let device = devices.randomElement(using: &random), let stream = device.stream,
            let attached = nodes[stream.node].lines[device.key]
        else { return }
        let node = nodes[stream.node]
        let power = DevicePower.allCases.randomElement(using: &random) ?? .low
        // Notifications that came while the device was awake did not have to wait.
        if attached.power != .low || power != .low { recordReason(attached) }
        attached.power = power
        guard fault != .wakesDevices else { return }
        node.startThread(
            performed(attached, device.key, node) { $0.changed(power, now: moment, silents: &node.silents) })
        if power != .low { recordReason(attached) }
    }

    func tickLines(of node: Node) {
        for device in devices {
            guard let attached = node.lines[device.key] else { continue }
            let isDue = attached.line.deadline.map { $0 <= moment.uptime } ?? false
            if isDue { attached.stream.isTicking = true }
            node.startThread(
                performed(attached, device.key, node) { $0.tick(now: moment, silents: &node.silents) })
        }
    }

    /// A node learns of a mailbox's new content.
    func take(_ stored: StoredMailboxEntry, offer: OfferID?, _ node: Node) -> [Node.Work] {
        let device = stored.entry.destination.deviceKey
        guard let attached = node.lines[device] else { return [] }
        recordReason(attached, urgentAmong: [stored])
        return performed(attached, device, node) {
            $0.stored(withFault(stored), offer: offer, now: moment, silents: &node.silents)
        }
    }

    func read(_ device: DeviceKey, epoch: UInt64, _ entries: [StoredMailboxEntry]?, by node: Node) {
        guard let attached = node.lines[device] else { return }
        if let entries {
            let epoch = fault == .staleEpochSends ? attached.epoch : epoch
            refuseEarlier(for: entries.map(\.entry.destination), at: node)
            recordReason(attached, urgentAmong: entries)
            node.startThread(
                performed(attached, device, node) {
                    $0.read(entries, epoch: epoch, now: moment, silents: &node.silents)
                })
            endStalls(to: node)
        } else if attached.line.isReading(epoch: epoch) {
            // If the mailboxes cannot be read, the stream ends.
            for known in devices where known.key == device { lose(attached.stream, of: known) }
            detach(attached.stream, of: device)
        }
    }

    /// Applies an event to a line. Sends at once, and leaves the other actions to a thread.
    private func performed(
        _ attached: AttachedLine,
        _ device: DeviceKey,
        _ node: Node,
        _ event: (inout DeviceLine) -> [DeviceLine.Action],
    ) -> [Node.Work] {
        forgetSilents(node)
        let actions = event(&attached.line)
        // Waiting notifications are sent together with an urgent one, and before it.
        let isUrgent = actions.contains { action in
            if case .send(let attempt) = action { attempt.notification.urgency == .immediate } else { false }
        }
        if isUrgent { recordReason(attached) }
        for case .send(let attempt) in actions { send(attempt, attached, node) }
        if !attached.line.isReading(epoch: attached.epoch) { recordOpen(attached) }
        return actions.map { .line($0, device) }
    }

    private func recordOpen(_ attached: AttachedLine) {
        let stream = attached.stream
        if stream.releasedUpTo == .max { stream.releasedUpTo = UInt64(records.count) }
        stream.isReleasing = false
        stream.isTicking = false
    }

    private func send(_ attempt: DeliveryAttempt, _ attached: AttachedLine, _ node: Node) {
        checkAttempt(attempt, on: attached, of: node)
        if attempt.notification.urgency == .immediate { recordReason(attached) }
        if attached.stream.isOpen { attached.stream.transit.append(attempt) }
    }

    // MARK: The device

    func deviceStep() {
        guard let device = devices.randomElement(using: &random), let stream = device.stream else { return }
        receive(device, stream)
    }

    private func receive(_ device: Device, _ stream: Stream) {
        guard !stream.transit.isEmpty else { return }
        let attempt = stream.transit.removeFirst()
        stream.received.append(attempt.number)
        records[Int(attempt.notification.number) - 1].wasReceived = true
        // Some acknowledgements are never sent, or are lost.
        guard chance(80) else { return }
        device.acknowledgements.append(chance(30) ? stream.received : [attempt.number])
    }

    /// An acknowledgement arrives: in any order, perhaps on a later connection, perhaps twice.
    func acknowledgementStep() {
        guard let device = devices.randomElement(using: &random), !device.acknowledgements.isEmpty else { return }
        let index = Int.random(in: 0..<device.acknowledgements.count, using: &random)
        let numbers = chance(15) ? device.acknowledgements[index] : device.acknowledgements.remove(at: index)
        acknowledge(numbers, device)
    }

    /// The device acknowledges on its present connection, whichever stream had the attempts.
    private func acknowledge(_ numbers: [UInt64], _ device: Device) {
        guard let node = device.stream.map({ nodes[$0.node] }) ?? nodes.first(where: { $0.lines[device.key] != nil }),
            let attached = node.lines[device.key]
        else { return }
        var work: [Node.Work] = []
        let reading = performed(attached, device.key, node) { line in
            let acknowledged = line.acknowledged(numbers)
            work = acknowledged.attempts.map(Node.Work.acknowledged)
            return acknowledged.reading.map { [.read($0)] } ?? []
        }
        for number in numbers { recordAcknowledged(number, device) }
        node.startThread(work + reading)
    }

    /// The device receives everything that is under way, and acknowledges all of it.
    func settle(_ device: Device) {
        for stream in device.gone { detach(stream, of: device.key) }
        device.gone = []
        for numbers in device.acknowledgements { acknowledge(numbers, device) }
        device.acknowledgements = []
        guard let stream = device.stream else { return }
        while !stream.transit.isEmpty { receive(device, stream) }
        device.acknowledgements = []
        acknowledge(stream.received, device)
        stream.received = []
    }
}

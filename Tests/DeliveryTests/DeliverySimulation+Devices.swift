@testable import Delivery
import Notifications
import Rates

/// Devices, their streams, and the courier's side of these, as `LocalSwitchboard` has it.
extension DeliverySimulation {
    final class AttachedLine {
        var line: DeviceLine
        let stream: Stream
        let epoch: UInt64
        /// What the device has said.
        var power = DevicePower.low

        init(_ line: consuming DeviceLine, _ stream: Stream) {
            epoch = line.newestNumber
            self.line = line
            self.stream = stream
        }
    }

    /// One connection of a device.
    final class Stream {
        /// Whether the device still has it; the courier may hear later that it is gone.
        var isOpen = true
        var transit: [Sending] = []
        /// The numbers of what the device has got on it.
        var received: [UInt64] = []
        /// The newest notification of each app that was sent on it, and everything that was.
        var newestSent: [AppID: UInt64] = [:]
        var sent: Set<UInt64> = []
        /// What was submitted up to this number may be sent though the device sleeps: there was a reason to wake it.
        var releasedUpTo: UInt64 = .max
        /// Whether the line reads its mailboxes for everything they hold.
        var isReleasing = true
        /// Whether it reads them because something has waited long enough.
        var isTicking = false
        var lastBurst = Timestamp(milliseconds: 0)
    }

    final class Device {
        let key: DeviceKey
        var stream: Stream?
        /// Streams of whose end the courier has not heard.
        var gone: [Stream] = []
        /// Acknowledgements on their way.
        var acknowledgements: [[UInt64]] = []
        var newestNumber: UInt64 = 0

        init(_ key: DeviceKey) { self.key = key }

        var isBusy: Bool {
            !gone.isEmpty || !acknowledgements.isEmpty
                || stream.map { !$0.transit.isEmpty || !$0.received.isEmpty } == true
        }

        /// The connection is no more; what was on its way on it is lost.
        func loseConnection() {
            stream?.isOpen = false
            stream?.transit = []
            stream = nil
            gone = []
        }
    }

    // MARK: Connections

    func connect(_ device: Device) {
        if let old = device.stream {
            old.isOpen = false
            device.gone.append(old)
        }
        let stream = Stream()
        device.stream = stream
        if fault == .readsBeforeAttaching {
            calls.append(.attaching(device.key, stream, snapshot(of: device.key)))
        } else {
            attach(stream, to: device.key, reading: nil)
        }
    }

    /// - Parameter entries: what was read before, which is wrong.
    func attach(_ stream: Stream, to device: DeviceKey, reading entries: [StoredMailboxEntry]?) {
        let older = lines[device]
        let previous = older?.line.newestNumber ?? newestNumbers[device] ?? 0
        let power: DevicePower = fault == .wakesDevices ? .awake : .low
        let line =
            fault == .numbersStartAgain
            ? DeviceLine(now: Timestamp(milliseconds: 0), after: 0, limits: limits, power: power)
            : DeviceLine(now: now, after: previous, limits: limits, power: power)
        stream.lastBurst = now
        let attached = AttachedLine(line, stream)
        lines[device] = attached
        let returned = older?.line.end() ?? []
        if let entries {
            startThread(
                returned.map { .line($0, device) }
                    + performed(attached, device) {
                        $0.read(entries, epoch: attached.epoch, now: moment, silents: &silents)
                    })
        } else {
            startThread((returned + [attached.line.firstAction]).map { .line($0, device) })
        }
    }

    func breakConnection() {
        guard let device = devices.randomElement(using: &random), let stream = device.stream else { return }
        // Of what was on its way, some has arrived.
        while !stream.transit.isEmpty && chance(50) { receive(device, stream) }
        stream.isOpen = false
        stream.transit = []
        device.stream = nil
        device.gone.append(stream)
    }

    /// The courier hears that a stream is gone.
    func detachStep() {
        guard let device = devices.randomElement(using: &random), !device.gone.isEmpty else { return }
        let stream = device.gone.remove(at: .random(in: 0..<device.gone.count, using: &random))
        detach(stream, of: device.key)
    }

    private func detach(_ stream: Stream, of device: DeviceKey) {
        guard let attached = lines[device], attached.stream === stream else { return }
        lines[device] = nil
        newestNumbers[device] = attached.line.newestNumber
        let actions = attached.line.end()
        startThread(actions.map { .line($0, device) })
    }

    // MARK: The courier

    func offer(_ offer: Offer) -> OfferAnswer {
        let device = offer.destination.deviceKey
        guard let attached = lines[device] else { return .returned }
        forgetSilents()
        let offered = attached.line.offer(offer, now: moment, silents: &silents)
        if let sending = offered.sending { send(sending, attached) }
        if case .readMailboxes(let epoch) = offered.then { calls.append(.reading(device, epoch: epoch)) }
        if offer.notification.urgency == .immediate, offered.answer == .taken { noteReason(attached) }
        return offered.answer
    }

    private func forgetSilents() {
        if fault == .countsNoSilents { silents = DeviceLine.Silents(limits.silentsPerApp) }
    }

    /// There was a reason to wake the device.
    private func noteReason(_ attached: AttachedLine) {
        attached.stream.releasedUpTo = max(attached.stream.releasedUpTo, UInt64(records.count))
        if attached.line.isReading(epoch: attached.epoch) { attached.stream.isReleasing = true }
    }

    // MARK: Power and time

    func powerStep() {
        guard let device = devices.randomElement(using: &random), let attached = lines[device.key] else { return }
        let power = DevicePower.allCases.randomElement(using: &random) ?? .low
        // What came while it was awake had nothing to wait for.
        if attached.power != .low || power != .low { noteReason(attached) }
        attached.power = power
        guard fault != .wakesDevices else { return }
        startThread(performed(attached, device.key) { $0.changed(power) })
        if power != .low { noteReason(attached) }
    }

    func tickLines() {
        for device in devices {
            guard let attached = lines[device.key] else { continue }
            let isDue = attached.line.deadline.map { $0 <= moment.uptime } ?? false
            startThread(performed(attached, device.key) { $0.tick(now: moment) })
            if isDue, attached.line.isReading(epoch: attached.epoch) { attached.stream.isTicking = true }
        }
    }

    func announce(_ stored: StoredMailboxEntry, offer: OfferID?) -> [Work] {
        let device = stored.entry.destination.deviceKey
        guard let attached = lines[device] else { return [] }
        return performed(attached, device) {
            $0.stored(withFault(stored), offer: offer, now: moment, silents: &silents)
        }
    }

    func read(_ device: DeviceKey, epoch: UInt64, _ entries: [StoredMailboxEntry]?) {
        guard let attached = lines[device] else { return }
        if let entries {
            let epoch = fault == .staleEpochSends ? attached.epoch : epoch
            startThread(
                performed(attached, device) { $0.read(entries, epoch: epoch, now: moment, silents: &silents) })
        } else if attached.line.isReading(epoch: epoch) {
            // The mailboxes could not be read: the stream ends.
            attached.stream.isOpen = false
            attached.stream.transit = []
            for known in devices where known.stream === attached.stream { known.stream = nil }
            detach(attached.stream, of: device)
        }
    }

    /// Lets something happen to a line; sends at once, and leaves the rest to do.
    private func performed(
        _ attached: AttachedLine,
        _ device: DeviceKey,
        _ event: (inout DeviceLine) -> [DeviceLine.Action],
    ) -> [Work] {
        forgetSilents()
        let actions = event(&attached.line)
        for case .send(let sending) in actions { send(sending, attached) }
        if !attached.line.isReading(epoch: attached.epoch) { noteOpen(attached) }
        return actions.map { .line($0, device) }
    }

    private func noteOpen(_ attached: AttachedLine) {
        let stream = attached.stream
        if stream.releasedUpTo == .max { stream.releasedUpTo = UInt64(records.count) }
        stream.isReleasing = false
        stream.isTicking = false
    }

    private func send(_ sending: Sending, _ attached: AttachedLine) {
        checkSending(sending, on: attached)
        if sending.notification.urgency == .immediate { noteReason(attached) }
        if attached.stream.isOpen { attached.stream.transit.append(sending) }
    }

    // MARK: The device

    func deviceStep() {
        guard let device = devices.randomElement(using: &random), let stream = device.stream else { return }
        receive(device, stream)
    }

    private func receive(_ device: Device, _ stream: Stream) {
        guard !stream.transit.isEmpty else { return }
        let sending = stream.transit.removeFirst()
        stream.received.append(sending.number)
        records[Int(sending.notification.number) - 1].wasReceived = true
        // Some acknowledgements are never sent, or lost.
        guard chance(80) else { return }
        device.acknowledgements.append(chance(30) ? stream.received : [sending.number])
    }

    /// An acknowledgement arrives: in any order, perhaps on a later connection, perhaps twice.
    func acknowledgementStep() {
        guard let device = devices.randomElement(using: &random), !device.acknowledgements.isEmpty else { return }
        let index = Int.random(in: 0..<device.acknowledgements.count, using: &random)
        let numbers = chance(15) ? device.acknowledgements[index] : device.acknowledgements.remove(at: index)
        acknowledge(numbers, device)
    }

    private func acknowledge(_ numbers: [UInt64], _ device: Device) {
        guard let attached = lines[device.key] else { return }
        let work = performed(attached, device.key) { $0.acknowledged(numbers) }
        for number in numbers { noteAcknowledged(number, device) }
        startThread(work)
    }

    /// The device takes everything that is on its way, and acknowledges all it has.
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

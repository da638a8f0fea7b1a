import Notifications
import Rates

/// The lines of one shard's devices.
struct Lines {
    private(set) var attached: [DeviceKey: AttachedLine] = [:]
    /// The rates of silent notifications, for each app on each device. They stay when a connection ends.
    var silents: DeviceLine.Silents
    /// For each line in which something waits for a time: when the line next has something to do.
    private var due: [DeviceKey: Uptime] = [:]
    /// A time that is not later than the first of ``due``.
    private(set) var firstDue: Uptime?
    /// The highest number of all lines that have ended. Each new line begins above it, even in the same millisecond
    /// or after the clock was set back. So a late acknowledgement never refers to an attempt of the device's next
    /// stream.
    private var newestNumber: UInt64 = 0
    /// The unacknowledged attempts of each device's last stream.
    private var ended: [DeviceKey: EndedAttempts] = [:]
    private let limits: DeliveryLimits
    private let clocks: TeamClocks

    /// If this many entries are kept, outdated ones are removed.
    private static let sweepAt = 1024

    init(limits: DeliveryLimits, clocks: TeamClocks = TeamClocks()) {
        self.limits = limits
        self.clocks = clocks
        silents = RateTable(limits.silentsPerApp)
    }

    /// - Returns: nil if the device is not connected.
    func connected(_ device: DeviceKey) -> ConnectedDevice? {
        attached[device].map { attached in
            ConnectedDevice(
                key: device, since: attached.since, power: attached.line.policy.power, held: attached.line.heldForPower)
        }
    }

    /// - Returns: The reading with which the new line begins.
    mutating func begin(
        _ device: DeviceKey,
        _ stream: any NotificationStream,
        power: DevicePower,
        after previous: UInt64,
        now: Moment,
    ) -> DeviceLine.ReadRequest {
        let line = DeviceLine(
            now: now.time, after: max(newestNumber, previous), limits: limits, power: power, clocks: clocks)
        let new = AttachedLine(stream: stream, line: line, since: now.time)
        attached[device] = new
        return new.line.firstReading
    }

    /// Begins the line of a new device, whose mailboxes are empty.
    mutating func beginNew(
        _ device: DeviceKey,
        _ stream: any NotificationStream,
        power: DevicePower,
        after previous: UInt64,
        now: Moment,
    ) {
        _ = begin(device, stream, power: power, after: previous, now: now)
        attached[device]?.line.openUnread()
    }

    /// - Returns: The line's last actions; none if the device had no line.
    mutating func end(_ device: DeviceKey, now: Moment) -> [DeviceLine.Action] {
        defer { assert(checkInvariants()) }
        guard let gone = attached.removeValue(forKey: device) else { return [] }
        due[device] = nil
        newestNumber = max(newestNumber, gone.line.newestNumber)
        if ended.count >= Self.sweepAt { ended = ended.filter { $0.value.expires > now.uptime } }
        ended[device] = gone.line.underWayCount > 0 ? EndedAttempts(gone.line.underWay, now: now.uptime) : nil
        return gone.line.end()
    }

    /// Records when the line has something to do next.
    /// - Returns: Whether no line waited for a time before, so that the timer has to be started.
    mutating func schedule(_ line: AttachedLine, of device: DeviceKey) -> Bool {
        defer { assert(checkInvariants()) }
        let deadline = line.line.deadline
        guard deadline != line.deadline else { return false }
        line.deadline = deadline
        due[device] = deadline
        guard let deadline else { return false }
        defer { firstDue = min(firstDue ?? deadline, deadline) }
        return firstDue == nil
    }

    /// The clock of the team that owns these apps has advanced.
    mutating func advanced(_ apps: Set<AppID>, by duration: Duration) {
        let nanoseconds = UInt64(clamping: duration.attoseconds / 1_000_000_000)
        silents.age(by: nanoseconds) { apps.contains($0.app) }
        for (device, attached) in attached {
            attached.line.advanced(apps, by: duration)
            // What waits for a time has started the timer already.
            _ = schedule(attached, of: device)
        }
    }

    /// Returns the devices whose lines have something to do now.
    mutating func drainDue(now: Uptime) -> [DeviceKey] {
        guard let firstDue, firstDue <= now else { return [] }
        let devices = due.filter { $0.value <= now }.keys
        for device in devices {
            due[device] = nil
            attached[device]?.deadline = nil
        }
        self.firstDue = due.values.min()
        return Array(devices)
    }

    /// Checks what holds between two events, in debug builds. Always returns true, so that `assert` can call it.
    private func checkInvariants() -> Bool {
        assert(due.isEmpty || firstDue != nil, "A line waits for a time, and no timer does.")
        guard due.count <= 16 else { return true }
        for (device, time) in due {
            assert(attached[device]?.deadline == time, "The table has another time than the line.")
            assert(firstDue.map { $0 <= time } ?? false, "The first time is not the first.")
        }
        return true
    }

    mutating func stored(_ reference: MailboxReference, offer: OfferID, of device: DeviceKey) {
        ended[device]?.stored(reference, offer: offer)
    }

    /// - Returns: What was acknowledged, and whether no line waited for a time before.
    mutating func acknowledged(
        _ numbers: [UInt64],
        by device: DeviceKey,
    ) -> (acknowledged: DeviceLine.Acknowledged, isFirstDue: Bool) {
        var (acknowledged, isFirstDue) = (DeviceLine.Acknowledged(), false)
        if let attached = attached[device] {
            acknowledged = attached.line.acknowledged(numbers)
            isFirstDue = schedule(attached, of: device)
        }
        // The numbers may belong to the device's last stream. Few devices have one that ended recently.
        if !ended.isEmpty { ended[device]?.acknowledged(numbers, &acknowledged) }
        return (acknowledged, isFirstDue)
    }
}

/// A device's stream and its line.
final class AttachedLine {
    let stream: any NotificationStream
    var line: DeviceLine
    let since: Timestamp
    /// The time that was recorded last for this line in the table of due times.
    var deadline: Uptime?

    init(stream: any NotificationStream, line: consuming DeviceLine, since: Timestamp) {
        self.stream = stream
        self.line = line
        self.since = since
    }
}

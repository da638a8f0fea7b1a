@testable import Delivery
import Notifications
import Rates
import Testing

/// How one device's stream handles mailboxes that keep more than one notification.
@Suite("What mailboxes keep for a device")
struct KeptLineTests {
    private static func kept(
        _ number: UInt64,
        app: UInt32 = 1,
        version: UInt64? = nil,
        priority: Priority = .immediate,
        isSilent: Bool = false,
    ) -> StoredMailboxEntry {
        var stored = Example.stored(number, app: app, version: version ?? number)
        stored.version = MailboxVersion(kept: version ?? number)
        stored.entry.notification.fields.priority = priority
        if isSilent { stored.entry.notification.fields.pushType = .background }
        return stored
    }

    private static func mailbox(_ app: UInt32) -> DeviceMailbox { DeviceMailbox(app: AppID(rawValue: app)) }

    private static func sends(_ steps: [LineRig.Step]) -> [UInt64] {
        steps.compactMap { if case .send(_, let number) = $0 { number } else { nil } }
    }

    @Test
    func `All of them are sent in their order, and each is removed when it is acknowledged`() {
        var rig = LineRig()
        #expect(Self.sends(rig.read([Self.kept(1), Self.kept(2), Self.kept(3)])) == [1, 2, 3])
        #expect(rig.acknowledged(2) == [.remove(app: 1, version: 2)])
        #expect(rig.acknowledged(1, 3) == [.remove(app: 1, version: 1), .remove(app: 1, version: 3)])
    }

    @Test
    func `One that was sent or acknowledged is not sent again, and an older one that comes late is`() {
        var rig = LineRig.open(power: .awake)
        #expect(Self.sends(rig.stored(Self.kept(5))) == [5])
        #expect(Self.sends(rig.stored(Self.kept(3))) == [3])
        #expect(rig.stored(Self.kept(5)) == [])
        _ = rig.acknowledged(1)
        #expect(rig.stored(Self.kept(5)) == [])
        #expect(rig.mayHaveMissed() == [.read])
        #expect(Self.sends(rig.read([Self.kept(3), Self.kept(4), Self.kept(5)])) == [4])
    }

    @Test
    func `An offer that is stored under way is not sent from the mailbox`() {
        var rig = LineRig.open(power: .awake)
        #expect(rig.offer(1) == (.taken, .send(1, notification: 1)))
        #expect(rig.stored(Self.kept(1, version: 7), offer: 1) == [])
        _ = rig.mayHaveMissed()
        #expect(rig.read([Self.kept(1, version: 7)]) == [])
        #expect(rig.acknowledged(1) == [.acknowledged(1), .remove(app: 1, version: 7)])
    }

    @Test
    func `An offer that is held back is sent at its place in the mailbox`() {
        var rig = LineRig()
        #expect(rig.offer(2).answer == .taken)
        #expect(rig.stored(Self.kept(2), offer: 2) == [])
        let steps = rig.read([Self.kept(1), Self.kept(2), Self.kept(3)])
        #expect(Self.sends(steps) == [1, 2, 3])
        #expect(rig.acknowledged(2) == [.acknowledged(2), .remove(app: 1, version: 2)])
    }

    private static func message(
        _ number: UInt64,
        queue: UInt32,
        version: UInt64? = nil,
        urgency: WebPushMessage.Urgency = .high,
    ) -> StoredMailboxEntry {
        var stored = kept(number, version: version, priority: urgency.priority)
        let app = stored.entry.destination
        stored.entry.destination = Destination(
            environment: app.environment, device: app.device, app: app.app, queue: queue)
        return stored
    }

    @Test
    func `Queues of an app do not delay each other, nor the app's own mailbox`() {
        var rig = LineRig.open(power: .low)
        #expect(Self.sends(rig.stored(Self.message(1, queue: 1, urgency: .low))) == [])
        // The newest of the app's own mailbox has a lower version, and is not a message of the queue.
        #expect(Self.sends(rig.stored(Example.stored(2, version: 2))) == [1, 2])
        #expect(Self.sends(rig.stored(Self.message(3, queue: 2, version: 1))) == [3])
        // Two queues may have the same version.
        #expect(Self.sends(rig.stored(Self.message(4, queue: 1, version: 9))) == [4])
        #expect(Self.sends(rig.stored(Self.message(5, queue: 2, version: 9))) == [5])
        _ = rig.acknowledged(4, 5)
        #expect(Self.sends(rig.stored(Self.message(6, queue: 3, version: 9))) == [6])
    }

    @Test
    func `Only urgent messages come at once when the device's power is low`() {
        var rig = LineRig.open(power: .low)
        for (number, urgency) in zip(UInt64(1)..., [WebPushMessage.Urgency.veryLow, .low, .normal]) {
            #expect(Self.sends(rig.stored(Self.message(number, queue: 1, urgency: urgency))) == [])
        }
        #expect(Self.sends(rig.stored(Self.message(4, queue: 2))) == [1, 2, 3, 4])
    }

    @Test
    func `A withdrawn message is not sent, wherever it waits`() {
        var rig = LineRig.open(power: .low)
        let message = Self.message(1, queue: 1, urgency: .low)
        _ = rig.stored(message)
        let reference = MailboxReference(destination: message.entry.destination, version: message.version)
        _ = rig.line.withdrawn(reference)
        #expect(Self.sends(rig.changed(.awake)) == [])
        // A reading may have found it before.
        #expect(Self.sends(rig.stored(message)) == [])
        let other = Self.message(2, queue: 2, version: 1)
        #expect(Self.sends(rig.stored(other)) == [2])
    }

    @Test
    func `The end of a subscription ends its waiting messages alone, and that of the app all of them`() {
        for (ended, left) in [(UInt32(1), [2, 3] as [UInt64]), (0, [])] {
            var rig = LineRig.open(power: .low)
            for number in 1...2 as ClosedRange<UInt64> {
                _ = rig.stored(Self.message(number, queue: UInt32(number), urgency: .low))
            }
            _ = rig.stored(Example.stored(3, version: 3, priority: .considerate))
            let app = Example.destination()
            let destination = Destination(
                environment: app.environment, device: app.device, app: app.app, queue: ended)
            _ = rig.line.removed(destination)
            let removed = Set(1...3 as ClosedRange<UInt64>).subtracting(left)
            _ = rig.read([])
            #expect(Set(Self.sends(rig.changed(.awake))).isDisjoint(with: removed))
        }
    }

    @Test
    func `Pages are read until half of a page is under way, and again from the first one when there is room`() {
        var rig = LineRig(limit: 1000, power: .awake)
        let half = UInt64(MailboxBound.pageCount / 2)
        let first = MailboxPage(
            entries: (1...half).map { Self.kept($0) }, last: MailboxVersion(kept: half), following: [Self.mailbox(1)]
        )
        let steps = rig.read(first)
        #expect(Self.sends(steps) == Array(1...half))
        #expect(steps.last == .readPage(after: half))
        let second = MailboxPage(
            entries: (half + 1...2 * half).map { Self.kept($0) }, last: MailboxVersion(kept: 2 * half),
            following: [Self.mailbox(1), Self.mailbox(2)])
        #expect(Self.sends(rig.read(second)) == Array(half + 1...2 * half))
        // An offer must not overtake what follows.
        #expect(rig.offer(1000, app: 2) == (.returned, nil))
        #expect(rig.stored(Self.kept(1000, app: 2), offer: 1000) == [])
        for number in 1..<half { #expect(rig.acknowledged(number) == [.remove(app: 1, version: number)]) }
        #expect(rig.acknowledged(half) == [.remove(app: 1, version: half), .read])
        let third = MailboxPage(
            entries: (half + 1...2 * half).map { Self.kept($0) } + [Self.kept(999, app: 2), Self.kept(1000, app: 2)])
        #expect(Self.sends(rig.read(third)) == [999, 1000])
    }

    @Test
    func `An offer that comes between two pages is held back, and does not overtake what follows`() {
        var rig = LineRig(limit: 1000, power: .awake)
        let page = MailboxPage(
            entries: [Self.kept(1)], last: MailboxVersion(kept: 1), following: [Self.mailbox(2)])
        #expect(rig.read(page) == [.send(1, notification: 1), .readPage(after: 1)])
        #expect(rig.offer(10, app: 2) == (.taken, nil))
        #expect(rig.read([Self.kept(2, app: 2)]) == [.send(2, notification: 2), .returned(10)])
        #expect(Self.sends(rig.stored(Self.kept(10, app: 2), offer: 10)) == [10])
    }

    @Test
    func `What waits for power is sent with the next burst, in its order`() {
        var rig = LineRig.open(power: .low, deferred: 1)
        // One waits in memory, the others in the mailbox.
        for number in 1...3 as ClosedRange<UInt64> {
            #expect(rig.stored(Self.kept(number, priority: .considerate)) == [])
        }
        // An urgent one comes last.
        #expect(rig.stored(Self.kept(4)) == [.read])
        let steps = rig.read([
            Self.kept(1, priority: .considerate), Self.kept(2, priority: .considerate),
            Self.kept(3, priority: .considerate), Self.kept(4),
        ])
        #expect(Self.sends(steps) == [1, 2, 3, 4])
    }

    @Test
    func `An urgent notification that a reading finds is sent after what waits before it`() {
        var rig = LineRig.open(power: .low, deferred: 0)
        #expect(rig.stored(Self.kept(1, priority: .considerate)) == [])
        #expect(rig.mayHaveMissed() == [.read])
        #expect(Self.sends(rig.read([Self.kept(1, priority: .considerate), Self.kept(2)])) == [1, 2])
    }

    @Test
    func `Silent notifications beyond the rate wait, and others pass them`() {
        var rig = LineRig.open(power: .awake)
        for number in 1...5 as ClosedRange<UInt64> { _ = rig.stored(Self.kept(number, isSilent: true)) }
        let underWay = rig.line.underWayCount
        #expect(underWay == 3)
        #expect(Self.sends(rig.stored(Self.kept(6))) == [6])
        rig.now = rig.now.advanced(by: .seconds(1201))
        #expect(rig.tick() == [.read])
        let steps = rig.read([Self.kept(4, isSilent: true), Self.kept(5, isSilent: true), Self.kept(6)])
        #expect(Self.sends(steps) == [4])
        rig.now = rig.now.advanced(by: .seconds(1201))
        #expect(rig.tick() == [.read])
        #expect(Self.sends(rig.read([Self.kept(5, isSilent: true)])) == [5])
    }

    @Test
    func `Those that have expired are removed, and the others are sent`() {
        var rig = LineRig(power: .awake)
        var expired = Self.kept(1)
        expired.entry.expires = rig.now
        #expect(rig.read([expired, Self.kept(2)]) == [.remove(app: 1, version: 1), .send(1, notification: 2)])
    }

    @Test
    func `After a lower number, what is newest replaces as before`() {
        var rig = LineRig.open(power: .awake)
        #expect(Self.sends(rig.stored(Self.kept(5))) == [5])
        #expect(Self.sends(rig.stored(Example.stored(6, version: 6))) == [6])
        #expect(rig.stored(Example.stored(4, version: 4)) == [])
    }
}

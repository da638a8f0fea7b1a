import Notifications
import Rates
import Testing

@testable import Delivery

/// Notifications that depend on the device's power (Guide, Table 8-2 and 2.2.2).
@Suite("The notifications of a device with low power")
struct DeviceLinePowerTests {
    private static func stored(
        _ number: UInt64,
        app: UInt32 = 1,
        _ priority: Priority = .considerate,
        isSilent: Bool = false,
    ) -> StoredMailboxEntry {
        Example.stored(number, app: app, version: number * 10, priority: priority, isSilent: isSilent)
    }

    private static let interval = DeliveryLimits().burstInterval

    private static func considerate(_ number: UInt64, app: UInt32 = 1, _ priority: Priority = .considerate) -> Offer {
        Example.offer(number, app: app, priority: priority)
    }

    @Test(arguments: [Priority.considerate, .low])
    func `If a device sleeps, notifications that are not urgent wait, and are stored`(_ priority: Priority) {
        var rig = LineRig.open()
        #expect(rig.offer(Self.considerate(1, priority)) == (.held, nil))
        #expect(rig.stored(Self.stored(1, priority), offer: 1) == [])
    }

    @Test
    func `All waiting notifications are delivered in order, although each replaced the one before in the mailbox`() {
        var rig = LineRig.open()
        for number in 1...5 as ClosedRange<UInt64> {
            #expect(rig.offer(Self.considerate(number)).answer == .held)
            #expect(rig.stored(Self.stored(number), offer: number) == [])
        }
        rig.now = rig.now.advanced(by: Self.interval)
        #expect(rig.tick() == (1...5).map { .send($0, notification: $0) })
        // The mailbox contains the last one, so only its acknowledgement empties it.
        #expect(rig.acknowledged(4) == [.acknowledged(4), .remove(app: 1, version: 40)])
        #expect(rig.acknowledged(5) == [.acknowledged(5), .remove(app: 1, version: 50)])
    }

    @Test
    func `An urgent notification comes after all waiting ones, without reading mailboxes`() {
        var rig = LineRig.open()
        for (number, app) in [(1, 1), (2, 2), (3, 1)] as [(UInt64, UInt32)] {
            _ = rig.offer(Self.considerate(number, app: app))
        }
        #expect(
            rig.offerAndThen(Example.offer(4, app: 2))
                == (1...4).map { .send($0, notification: $0) })
        let deadline = rig.line.deadline
        #expect(deadline == nil)
    }

    @Test
    func `Waiting notifications for a removed app are not sent, and those for other apps are`() {
        var rig = LineRig.open()
        for (number, app) in [(1, 1), (2, 2), (3, 1), (4, 1)] as [(UInt64, UInt32)] {
            #expect(rig.offer(Self.considerate(number, app: app)).answer == .held)
            // Of the last one, nothing was stored yet.
            if number < 4 { #expect(rig.stored(Self.stored(number, app: app), offer: number) == []) }
        }
        #expect(rig.removed(1) == [.returned(4), .read])
        #expect(rig.read([Self.stored(2, app: 2)]) == [])
        rig.now = rig.now.advanced(by: Self.interval)
        #expect(rig.tick() == [.send(1, notification: 2)])
        #expect(rig.removed(1) == [])
    }

    @Test
    func `If the stream ends, all waiting notifications are returned, in order`() {
        var rig = LineRig.open()
        for number in 1...3 as ClosedRange<UInt64> { _ = rig.offer(Self.considerate(number)) }
        _ = rig.stored(Self.stored(4, app: 2))
        #expect(rig.end() == [.returned(1), .returned(2), .returned(3)])
    }

    @Test
    func `Beyond the limit the newest of each app waits in the mailbox, and comes after those that wait here`() {
        var rig = LineRig.open(deferred: 2)
        _ = rig.offer(Self.considerate(1))
        _ = rig.offer(Self.considerate(2))
        let third = rig.line.offer(Self.considerate(3), now: Example.now(rig.now), silents: &rig.silents)
        #expect(third.answer == .returned)
        #expect(third.limitExceeded == .deferred)
        #expect(rig.stored(Self.stored(3), offer: 3) == [])
        #expect(rig.offer(Self.considerate(4)) == (.returned, nil))
        #expect(rig.stored(Self.stored(4), offer: 4) == [])
        rig.now = rig.now.advanced(by: Self.interval)
        #expect(rig.tick() == [.send(1, notification: 1), .send(2, notification: 2), .read])
        #expect(rig.read([Self.stored(4)]) == [.send(3, notification: 4)])
    }

    @Test(arguments: [(1, 0), (2, 1), (5, 2), (1000, 100)])
    func `Half of the room is kept for urgent notifications`(limit: Int, deferred: Int) {
        var rig = LineRig.open(limit: limit)
        var held = 0
        for number in 1...200 as ClosedRange<UInt64> where rig.offer(Self.considerate(number)).answer == .held {
            held += 1
        }
        #expect(held == deferred)
        #expect(rig.offer(201).answer == .taken)
    }

    @Test
    func `A waiting notification is not sent twice if its mailbox is read for another reason`() {
        var rig = LineRig.open()
        _ = rig.offer(Self.considerate(1))
        _ = rig.stored(Self.stored(1), offer: 1)
        #expect(rig.mayHaveMissed() == [.read])
        #expect(rig.read([Self.stored(1), Self.stored(2, app: 2)]) == [])
        rig.now = rig.now.advanced(by: Self.interval)
        #expect(rig.tick() == [.send(1, notification: 1), .send(2, notification: 2)])
    }

    @Test
    func `A notification that expires while it waits is not sent`() {
        var rig = LineRig.open()
        let soon = Expiration.at(rig.now.advanced(by: .seconds(10)).seconds)
        _ = rig.offer(Example.offer(1, soon, priority: .considerate))
        _ = rig.offer(Example.offer(2, app: 2, soon, priority: .considerate))
        _ = rig.stored(Self.stored(1), offer: 1)
        rig.now = rig.now.advanced(by: Self.interval)
        // It is not known whether the second one is in its mailbox. If so, it is sent from there.
        #expect(rig.tick() == [.remove(app: 1, version: 10)])
    }

    @Test(arguments: [Priority.considerate, .low])
    func `If a device is awake, everything is sent at once`(_ priority: Priority) {
        for power in [DevicePower.awake, .charging] {
            var rig = LineRig.open(power: power)
            #expect(rig.offer(Example.offer(1, priority: priority)) == (.taken, .send(1, notification: 1)))
            #expect(rig.stored(Self.stored(2, app: 2, priority)) == [.send(2, notification: 2)])
        }
    }

    @Test
    func `A device that connects gets all waiting notifications`() {
        var rig = LineRig()
        #expect(
            rig.read([Self.stored(1), Self.stored(2, app: 2, .low), Self.stored(3, app: 3, isSilent: true)]) == [
                .send(1, notification: 1), .send(2, notification: 2), .send(3, notification: 3),
            ])
    }

    @Test
    func `Waiting notifications are sent together after the interval, and not before`() {
        var rig = LineRig.open()
        _ = rig.stored(Self.stored(1))
        rig.now = rig.now.advanced(by: .seconds(20))
        _ = rig.stored(Self.stored(2, app: 2))
        rig.now = rig.now.advanced(by: .milliseconds(9999))
        #expect(rig.tick() == [])
        rig.now = rig.now.advanced(by: .milliseconds(1))
        #expect(rig.tick() == [.send(1, notification: 1), .send(2, notification: 2)])
        let deadline = rig.line.deadline
        #expect(deadline == nil)
    }

    @Test(arguments: [1, 2] as [UInt32])
    func `An urgent notification also sends the waiting ones, before itself`(app: UInt32) {
        var rig = LineRig.open()
        _ = rig.stored(Self.stored(1))
        #expect(
            rig.offerAndThen(Example.offer(2, app: app)) == [.send(1, notification: 1), .send(2, notification: 2)])
    }

    @Test(arguments: [1, 2])
    func `An urgent notification also sends those that wait in a mailbox, for the same app before itself`(app: UInt32) {
        var rig = LineRig.open(deferred: 0)
        _ = rig.stored(Self.stored(1))
        let steps = rig.offerAndThen(Example.offer(2, app: app))
        #expect(steps == (app == 1 ? [.read] : [.send(1, notification: 2), .read]))
        #expect(
            rig.read([Self.stored(1)])
                == (app == 1
                    ? [.send(1, notification: 1), .send(2, notification: 2)] : [.send(2, notification: 1)]))
    }

    @Test
    func `An urgent notification from the mailbox also sends the waiting ones`() {
        var rig = LineRig.open()
        _ = rig.stored(Self.stored(1))
        #expect(
            rig.stored(Self.stored(2, app: 2, .immediate)) == [.send(1, notification: 1), .send(2, notification: 2)])
    }

    @Test
    func `An urgent notification that has expired wakes no device`() {
        var rig = LineRig.open()
        _ = rig.stored(Self.stored(1))
        let expired = Example.stored(2, app: 2, version: 20, expires: rig.now)
        #expect(rig.stored(expired) == [.remove(app: 2, version: 20)])
    }

    @Test(arguments: [DevicePower.awake, .charging])
    func `If a device reports that it is awake, the waiting notifications are sent`(_ power: DevicePower) {
        var rig = LineRig.open()
        _ = rig.stored(Self.stored(1, .low))
        #expect(rig.changed(.low) == [])
        #expect(rig.changed(power) == [.send(1, notification: 1)])
    }

    @Test
    func `A notification of priority 1 is sent only with a burst, however long it waits`() {
        var rig = LineRig.open()
        _ = rig.stored(Self.stored(1, .low))
        let alone = rig.line.deadline
        #expect(alone == nil)
        _ = rig.stored(Self.stored(2, app: 2))
        rig.now = rig.now.advanced(by: Self.interval)
        #expect(rig.tick() == [.send(1, notification: 1), .send(2, notification: 2)])
    }

    @Test
    func `A reading for another reason does not send waiting notifications`() {
        var rig = LineRig.open(limit: 2)
        _ = rig.stored(Self.stored(1))
        _ = rig.stored(Self.stored(2, app: 2, .immediate))  // This sends the first one too.
        _ = rig.read([Self.stored(1), Self.stored(2, app: 2, .immediate)])
        _ = rig.stored(Self.stored(3, app: 3, .immediate))  // There is no room.
        #expect(rig.acknowledged(1).last == .read)
        #expect(
            rig.read([Self.stored(3, app: 3, .immediate), Self.stored(4, app: 4)]) == [.send(3, notification: 3)])
    }

    @Test
    func `A notification that must not be stored is tried now, unless it must not wake the device`() {
        var rig = LineRig.open()
        func offer(_ number: UInt64, _ priority: Priority) -> Offer {
            Offer(
                id: nil, destination: Example.destination(),
                notification: Example.notification(number, priority: priority))
        }
        #expect(rig.offer(offer(1, .considerate)) == (.taken, .send(1, notification: 1)))
        #expect(rig.offer(offer(2, .low)) == (.returned, nil))
    }

    // MARK: Broadcasts

    @Test
    func `A broadcast waits for the power as a notification does, and both are sent together`() {
        var rig = LineRig.open()
        func isAdmitted(_ number: UInt64, _ priority: Priority) -> Bool {
            rig.line.admitsBroadcast(Example.notification(number, priority: priority), now: Example.now(rig.now))
        }
        #expect(isAdmitted(1, .immediate))
        #expect(!isAdmitted(2, .low))
        let alone = rig.line.deadline
        #expect(alone == nil)
        #expect(!isAdmitted(3, .considerate))
        _ = rig.offer(Self.considerate(4))
        rig.now = rig.now.advanced(by: Self.interval)
        #expect(rig.tick() == [.send(1, notification: 4), .releaseBroadcasts])
        #expect(!isAdmitted(5, .low))
        #expect(rig.offerAndThen(Example.offer(6)) == [.releaseBroadcasts, .send(2, notification: 6)])
        #expect(!isAdmitted(7, .low))
        #expect(rig.changed(.awake) == [.releaseBroadcasts])
        #expect(isAdmitted(8, .low))
    }

    // MARK: Collapse identifiers

    private static func score(_ number: UInt64, app: UInt32 = 1, _ id: String = "score") -> Offer {
        Example.offer(number, app: app, priority: .considerate, collapseID: id)
    }

    private static func storedScore(_ number: UInt64, app: UInt32 = 1, _ id: String = "score") -> StoredMailboxEntry {
        Example.stored(number, app: app, version: number * 10, priority: .considerate, collapseID: id)
    }

    @Test
    func `Of waiting notifications of an app with one collapse identifier, only the newest is sent`() {
        var rig = LineRig.open()
        for (number, app, id) in [
            (1, 1, "score"), (2, 1, "other"), (3, 2, "score"), (4, 1, "score"), (5, 1, "score"),
        ] as [(UInt64, UInt32, String)] {
            #expect(rig.offer(Self.score(number, app: app, id)).answer == .held)
            #expect(rig.stored(Self.storedScore(number, app: app, id), offer: number) == [])
        }
        _ = rig.offer(Self.considerate(6))
        rig.now = rig.now.advanced(by: Self.interval)
        #expect(
            rig.tick() == [
                .send(1, notification: 2), .send(2, notification: 3), .send(3, notification: 5),
                .send(4, notification: 6),
            ])
        #expect(rig.acknowledged(3) == [.acknowledged(5), .remove(app: 1, version: 50)])
    }

    @Test
    func `A waiting notification is kept until a newer one with its collapse identifier is stored`() {
        var rig = LineRig.open()
        _ = rig.offer(Self.score(1))
        _ = rig.stored(Self.storedScore(1), offer: 1)
        _ = rig.offer(Self.score(2))
        rig.now = rig.now.advanced(by: Self.interval)
        #expect(rig.tick() == [.send(1, notification: 1), .send(2, notification: 2)])
    }

    @Test
    func `A notification that a newer one with its collapse identifier replaced before it was stored is not sent`() {
        var rig = LineRig.open()
        _ = rig.offer(Self.score(1))
        _ = rig.offer(Self.score(2))
        _ = rig.stored(Self.storedScore(2), offer: 2)
        rig.now = rig.now.advanced(by: Self.interval)
        #expect(rig.tick() == [.send(1, notification: 2)])
    }

    @Test
    func `Content from a mailbox takes the place of a waiting notification with its collapse identifier`() {
        var rig = LineRig.open()
        _ = rig.offer(Self.score(1))
        _ = rig.stored(Self.storedScore(1), offer: 1)
        #expect(rig.stored(Self.storedScore(2)) == [])
        rig.now = rig.now.advanced(by: Self.interval)
        #expect(rig.tick() == [.send(1, notification: 2)])
    }

    // MARK: Silent notifications

    @Test
    func `While a silent notification beyond the rate waits, those with a single attempt are sent`() {
        var rig = LineRig.open(power: .awake)
        func single(_ number: UInt64, _ priority: Priority, isSilent: Bool = false) -> Offer {
            Offer(
                id: nil, destination: Example.destination(),
                notification: Example.notification(number, .immediately, priority: priority, isSilent: isSilent))
        }
        for number in 1...3 as ClosedRange<UInt64> {
            _ = rig.offer(Example.offer(number, priority: .considerate, isSilent: true))
        }
        _ = rig.stored(Self.stored(4, isSilent: true))
        #expect(rig.offer(single(5, .immediate)) == (.taken, .send(4, notification: 5)))
        #expect(rig.offer(single(6, .considerate)) == (.taken, .send(5, notification: 6)))
        #expect(rig.offer(single(7, .considerate, isSilent: true)).answer == .returned)
        rig.now = rig.now.advanced(by: .seconds(1200))
        #expect(rig.tick() == [.read])
        #expect(rig.read([Self.stored(4, isSilent: true)]) == [.send(6, notification: 4)])
    }

    @Test
    func `Silent notifications wait in their order too; one beyond the rate stays in the mailbox`() {
        var rig = LineRig.open()
        for number in 1...4 as ClosedRange<UInt64> {
            #expect(rig.offer(Example.offer(number, priority: .considerate, isSilent: true)).answer == .held)
            _ = rig.stored(Self.stored(number, isSilent: true), offer: number)
        }
        rig.now = rig.now.advanced(by: Self.interval)
        #expect(rig.tick() == (1...3).map { .send($0, notification: $0) })
        rig.now = rig.now.advanced(by: .seconds(1200))
        #expect(rig.tick() == [.read])
        // The device still sleeps.
        #expect(rig.read([Self.stored(4, isSilent: true)]) == [])
        rig.now = rig.now.advanced(by: Self.interval)
        #expect(rig.tick() == [.send(4, notification: 4)])
    }

    @Test
    func `Deferred notifications take room, so mailboxes are read only when there is some`() {
        var rig = LineRig.open(limit: 4)
        for number in 1...2 as ClosedRange<UInt64> { _ = rig.offer(number) }
        for number in 3...4 as ClosedRange<UInt64> { _ = rig.offer(Self.considerate(number, .low)) }
        #expect(rig.offer(5).answer == .returned)
        #expect(rig.stored(Self.stored(5, .immediate)) == [])
        #expect(rig.mayHaveMissed() == [.read])
        #expect(rig.read([Self.stored(5, .immediate)]) == [])
        #expect(rig.acknowledged(1) == [.acknowledged(1), .read])
        #expect(
            rig.read([Self.stored(5, .immediate)]) == [3, 4, 5].map { .send($0, notification: $0) })
    }

    @Test
    func `A notification that replaced a silent one beyond the rate is sent in its place`() {
        var rig = LineRig.open()
        for number in 1...4 as ClosedRange<UInt64> {
            _ = rig.offer(Example.offer(number, priority: .considerate, isSilent: true))
            _ = rig.stored(Self.stored(number, isSilent: true), offer: number)
        }
        _ = rig.offer(Self.considerate(5))
        _ = rig.stored(Self.stored(5), offer: 5)
        rig.now = rig.now.advanced(by: Self.interval)
        #expect(rig.tick() == [1, 2, 3, 5].enumerated().map { .send(UInt64($0 + 1), notification: $1) })
        let deadline = rig.line.deadline
        #expect(deadline == nil)
    }

    @Test
    func `An app gets three silent notifications at once, and no more`() {
        var rig = LineRig.open(power: .awake)
        for number in 1...3 as ClosedRange<UInt64> {
            #expect(rig.offer(Example.offer(number, priority: .considerate, isSilent: true)).answer == .taken)
        }
        #expect(rig.offer(Example.offer(4, priority: .considerate, isSilent: true)) == (.returned, nil))
        #expect(rig.offer(Example.offer(5, app: 2, priority: .considerate, isSilent: true)).answer == .taken)
        #expect(rig.offer(Example.offer(6)).answer == .taken)
    }

    @Test
    func
        `A silent notification beyond the rate waits in the mailbox until the rate allows it, a third of an hour later`()
    {
        var rig = LineRig.open(power: .awake)
        for number in 1...3 as ClosedRange<UInt64> {
            _ = rig.offer(Example.offer(number, priority: .considerate, isSilent: true))
        }
        let fourth = Self.stored(4, isSilent: true)
        #expect(rig.stored(fourth) == [])
        rig.now = rig.now.advanced(by: .seconds(1199))
        #expect(rig.tick() == [])
        rig.now = rig.now.advanced(by: .seconds(1))
        #expect(rig.tick() == [.read])
        #expect(rig.read([fourth]) == [.send(4, notification: 4)])
    }

    @Test
    func `A notification after a waiting silent one replaces it in the mailbox`() {
        var rig = LineRig.open(power: .awake)
        for number in 1...3 as ClosedRange<UInt64> {
            _ = rig.offer(Example.offer(number, priority: .considerate, isSilent: true))
        }
        _ = rig.stored(Self.stored(4, isSilent: true))
        #expect(rig.offer(Example.offer(5)) == (.returned, nil))
        #expect(rig.stored(Self.stored(5, .immediate)) == [.send(4, notification: 5)])
        #expect(rig.offer(Example.offer(6)) == (.taken, .send(5, notification: 6)))
    }
}

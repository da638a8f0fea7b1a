import Notifications
import Rates
import Testing

@testable import Delivery

/// What is sent with regard to the device's power (Guide, Table 8-2 and 2.2.2).
@Suite("DeviceLine: power")
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

    @Test("to a device that sleeps, what is not urgent goes to the mailbox", arguments: [Priority.considerate, .low])
    func goesToMailbox(_ priority: Priority) {
        var rig = LineRig.open()
        #expect(rig.offer(Example.offer(1, priority: priority)) == (.returned, nil))
        #expect(rig.stored(Self.stored(1, priority)) == [])
    }

    @Test("to a device that is awake everything is sent at once", arguments: [Priority.considerate, .low])
    func awake(_ priority: Priority) {
        for power in [DevicePower.awake, .charging] {
            var rig = LineRig.open(power: power)
            #expect(rig.offer(Example.offer(1, priority: priority)) == (.taken, .send(1, notification: 1)))
            #expect(rig.stored(Self.stored(2, app: 2, priority)) == [.send(2, notification: 2)])
        }
    }

    @Test("a device that connects gets everything that waits for it")
    func connecting() {
        var rig = LineRig()
        #expect(
            rig.read([Self.stored(1), Self.stored(2, app: 2, .low), Self.stored(3, app: 3, isSilent: true)]) == [
                .send(1, notification: 1), .send(2, notification: 2), .send(3, notification: 3),
            ])
    }

    @Test("what waits is sent together when the interval is over, and not before")
    func burst() {
        var rig = LineRig.open()
        _ = rig.stored(Self.stored(1))
        rig.now = rig.now.advanced(by: .seconds(20))
        _ = rig.stored(Self.stored(2, app: 2))
        rig.now = rig.now.advanced(by: .milliseconds(9999))
        #expect(rig.tick() == [])
        rig.now = rig.now.advanced(by: .milliseconds(1))
        #expect(rig.tick() == [.read])
        #expect(
            rig.read([Self.stored(1), Self.stored(2, app: 2)]) == [
                .send(1, notification: 1), .send(2, notification: 2),
            ])
        let deadline = rig.line.deadline
        #expect(deadline == nil)
    }

    @Test("something urgent takes along what waits, for the same app before itself", arguments: [1, 2] as [UInt32])
    func company(app: UInt32) {
        var rig = LineRig.open()
        _ = rig.stored(Self.stored(1))
        let steps = rig.offerAndThen(Example.offer(2, app: app))
        #expect(steps == (app == 1 ? [.read] : [.send(1, notification: 2), .read]))
        #expect(
            rig.read([Self.stored(1)])
                == (app == 1
                    ? [.send(1, notification: 1), .send(2, notification: 2)] : [.send(2, notification: 1)]))
    }

    @Test("something urgent that comes from the mailbox takes along what waits")
    func storedCompany() {
        var rig = LineRig.open()
        _ = rig.stored(Self.stored(1))
        #expect(rig.stored(Self.stored(2, app: 2, .immediate)) == [.send(1, notification: 2), .read])
    }

    @Test("something urgent that had expired wakes nobody")
    func expiredCompany() {
        var rig = LineRig.open()
        _ = rig.stored(Self.stored(1))
        let expired = Example.stored(2, app: 2, version: 20, expires: rig.now)
        #expect(rig.stored(expired) == [.remove(app: 2, version: 20)])
    }

    @Test("a device that says it is awake gets what waits", arguments: [DevicePower.awake, .charging])
    func wakesUp(_ power: DevicePower) {
        var rig = LineRig.open()
        _ = rig.stored(Self.stored(1, .low))
        #expect(rig.changed(.low) == [])
        #expect(rig.changed(power) == [.read])
        #expect(rig.read([Self.stored(1, .low)]) == [.send(1, notification: 1)])
    }

    @Test("priority 1 waits for no time, and goes along with a burst")
    func lowPriority() {
        var rig = LineRig.open()
        _ = rig.stored(Self.stored(1, .low))
        let alone = rig.line.deadline
        #expect(alone == nil)
        _ = rig.stored(Self.stored(2, app: 2))
        rig.now = rig.now.advanced(by: Self.interval)
        #expect(rig.tick() == [.read])
        #expect(
            rig.read([Self.stored(1, .low), Self.stored(2, app: 2)]) == [
                .send(1, notification: 1), .send(2, notification: 2),
            ])
    }

    @Test("a reading for another reason leaves what waits where it is")
    func otherReading() {
        var rig = LineRig.open(limit: 2)
        _ = rig.stored(Self.stored(1))
        _ = rig.stored(Self.stored(2, app: 2, .immediate))  // It takes the first one along.
        _ = rig.read([Self.stored(1), Self.stored(2, app: 2, .immediate)])
        _ = rig.stored(Self.stored(3, app: 3, .immediate))  // No room.
        #expect(rig.acknowledged(1).last == .read)
        #expect(
            rig.read([Self.stored(3, app: 3, .immediate), Self.stored(4, app: 4)]) == [.send(3, notification: 3)])
    }

    @Test("what may not be stored is tried now, unless it is not to wake the device")
    func oneAttempt() {
        var rig = LineRig.open()
        func offer(_ number: UInt64, _ priority: Priority) -> Offer {
            Offer(
                id: nil, destination: Example.destination(),
                notification: Example.notification(number, priority: priority))
        }
        #expect(rig.offer(offer(1, .considerate)) == (.taken, .send(1, notification: 1)))
        #expect(rig.offer(offer(2, .low)) == (.returned, nil))
    }

    // MARK: Silent notifications

    @Test("an app gets three silent notifications, and then no more at once")
    func silents() {
        var rig = LineRig.open(power: .awake)
        for number in 1...3 as ClosedRange<UInt64> {
            #expect(rig.offer(Example.offer(number, priority: .considerate, isSilent: true)).answer == .taken)
        }
        #expect(rig.offer(Example.offer(4, priority: .considerate, isSilent: true)) == (.returned, nil))
        #expect(rig.offer(Example.offer(5, app: 2, priority: .considerate, isSilent: true)).answer == .taken)
        #expect(rig.offer(Example.offer(6)).answer == .taken)
    }

    @Test("one that is too many waits in the mailbox until there is room for it, a third of an hour later")
    func throttled() {
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

    @Test("what comes after a silent one that waits takes its place in the mailbox")
    func replacesThrottled() {
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

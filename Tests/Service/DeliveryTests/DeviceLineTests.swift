@testable import Delivery
import Notifications
import Rates
import Testing

/// How one device's stream handles offers, mailboxes and acknowledgements.
@Suite("The notifications of a device")
struct DeviceLineTests {
    // MARK: Reading

    @Test
    func `A new line reads its mailboxes`() {
        let line = DeviceLine(
            now: Example.moment, after: 0, limits: DeliveryLimits(unacknowledgedPerDevice: 1), power: .low)
        let (reading, epoch) = (line.firstReading, line.newestNumber)
        #expect(reading == DeviceLine.ReadRequest(epoch: epoch))
    }

    @Test
    func `The contents of the mailboxes are sent in their order`() {
        var rig = LineRig()
        let entries = [Example.stored(7, app: 2, version: 1), Example.stored(5, app: 1, version: 2)]
        #expect(rig.read(entries) == [.send(1, notification: 7), .send(2, notification: 5)])
    }

    @Test(arguments: ["{\n}", "{ }", "{", "[]", "", "{\"aps\":\"\u{1}\"}"])
    func `A notification that the disk has damaged is removed, and the others are sent`(_ json: String) {
        var rig = LineRig()
        var bad = Example.stored(1, app: 1, version: 1)
        bad.entry.notification.fields.payload = Payload(stored: Array(json.utf8), contents: [.aps])
        let steps = rig.read([bad, Example.stored(2, app: 2, version: 2)])
        #expect(steps == [.remove(app: 1, version: 1), .send(1, notification: 2)])
    }

    @Test(arguments: ["a\"b", "a\nb", "a\\b", "a\u{7f}b", "ä"])
    func `A topic that would break the line's JSON counts as damage too`(_ topic: String) {
        var rig = LineRig()
        var bad = Example.stored(1, version: 1)
        bad.entry.notification.fields.topic = topic
        #expect(rig.read([bad]) == [.remove(app: 1, version: 1)])
    }

    @Test
    func `Offers are held while the mailboxes are being read, and sent afterwards`() {
        var rig = LineRig()
        #expect(rig.offer(2) == (.taken, nil))
        #expect(rig.offer(3, app: 2) == (.taken, nil))
        #expect(
            rig.read([Example.stored(1, app: 3, version: 1)]) == [
                .send(1, notification: 1), .send(2, notification: 2), .send(3, notification: 3),
            ])
    }

    @Test
    func
        `An offer that is held while its app's mailbox is read is stored, because the notification there may be newer`()
    {
        var rig = LineRig()
        _ = rig.offer(1)
        _ = rig.offer(3, app: 2)
        #expect(
            rig.read([Example.stored(2, version: 20)]) == [
                .send(1, notification: 2), .returned(1), .send(2, notification: 3),
            ])
    }

    @Test
    func `An offer to an open line is sent at once`() {
        var rig = LineRig.open()
        #expect(rig.offer(1) == (.taken, .send(1, notification: 1)))
        #expect(rig.offer(2) == (.taken, .send(2, notification: 2)))
    }

    @Test
    func `If something is stored while the mailboxes are being read, they are read again`() {
        var rig = LineRig()
        #expect(rig.stored(Example.stored(1, app: 2, version: 1)) == [])
        #expect(rig.offer(2) == (.taken, nil))
        #expect(rig.read([]) == [.read])
        #expect(rig.offer(3) == (.taken, nil))
        #expect(
            rig.read([Example.stored(1, app: 2, version: 1)]) == [
                .send(1, notification: 1), .send(2, notification: 2), .send(3, notification: 3),
            ])
    }

    @Test
    func `Mailboxes are read again as often as something is stored meanwhile`() {
        var rig = LineRig()
        for version in 1...3 as ClosedRange<UInt64> {
            _ = rig.stored(Example.stored(version, version: version))
            #expect(rig.read([]) == [.read])
        }
        #expect(rig.read([Example.stored(3, version: 3)]) == [.send(1, notification: 3)])
    }

    @Test
    func `A held offer that was stored meanwhile is sent once, and its acknowledgement empties the mailbox`() {
        var rig = LineRig()
        _ = rig.offer(1)
        #expect(rig.stored(Example.stored(1, version: 10), offer: 1) == [])
        #expect(rig.read([Example.stored(1, version: 10)]) == [.send(1, notification: 1)])
        #expect(rig.acknowledged(1) == [.acknowledged(1), .remove(app: 1, version: 10)])
    }

    @Test
    func `Of an app's held offers, one that is in the mailbox discards older ones and is sent in their place`() {
        var rig = LineRig()
        for number in 1...4 as ClosedRange<UInt64> { _ = rig.offer(number) }
        _ = rig.offer(5, app: 2)
        // Notification 1 had been stored before it was replaced, 2 had not.
        _ = rig.stored(Example.stored(1, version: 10), offer: 1)
        _ = rig.stored(Example.stored(3, version: 30), offer: 3)
        #expect(
            rig.read([Example.stored(3, version: 30)]) == [
                .returned(1), .returned(2), .send(1, notification: 3), .send(2, notification: 4),
                .send(3, notification: 5),
            ])
    }

    @Test
    func `Of held offers of two origins, the one that was stored last discards the other, whatever their numbers`() {
        var rig = LineRig()
        var (first, second) = (Example.offer(9), Example.offer(1))
        first.id = OfferID(origin: OfferOrigin(rawValue: 7), number: 9)
        second.id = OfferID(origin: OfferOrigin(rawValue: 8), number: 1)
        for offer in [first, second] { _ = rig.offer(offer) }
        _ = rig.stored(Example.stored(1, version: 10), offer: second.id)
        _ = rig.stored(Example.stored(9, version: 20), offer: first.id)
        #expect(rig.read([Example.stored(9, version: 20)]) == [.send(1, notification: 9), .returned(1)])
    }

    @Test
    func `The version of another origin's offer with the same number is not used`() {
        var rig = LineRig.open()
        _ = rig.offer(1)
        let other = OfferID(origin: OfferOrigin(rawValue: 8), number: 1)
        #expect(rig.stored(Example.stored(2, version: 10), offer: other) == [.send(2, notification: 2)])
        #expect(rig.acknowledged(1) == [.acknowledged(1)])
    }

    @Test
    func `An offer that expired on its way is returned, and one with a single attempt is tried`() {
        var rig = LineRig.open()
        let second = rig.now.seconds
        #expect(rig.offer(Example.offer(1, .at(second))).answer == .returned)
        #expect(rig.offer(Example.offer(2, .at(second + 1))).answer == .taken)
        let once = Offer(
            id: nil, destination: Example.destination(), notification: Example.notification(3, .at(second)))
        #expect(rig.offer(once).answer == .taken)
    }

    @Test
    func `A late announcement does not affect newer content that waits`() {
        var rig = LineRig.open()
        #expect(rig.stored(Example.stored(2, version: 20, priority: .considerate)) == [])
        #expect(rig.stored(Example.stored(1, version: 10)) == [])
        #expect(rig.changed(.awake) == [.send(1, notification: 2)])
    }

    @Test
    func `A line that may have missed something reads again, at once or after the present reading`() {
        var rig = LineRig()
        #expect(rig.mayHaveMissed() == [])
        #expect(rig.read([]) == [.read])
        #expect(rig.read([]) == [])
        #expect(rig.mayHaveMissed() == [.read])
        #expect(rig.read([Example.stored(1, version: 10)]) == [.send(1, notification: 1)])
    }

    @Test
    func `Attempts that are given up are no longer under way: offers are returned, stored contents stay`() {
        var rig = LineRig.open(limit: 2, [Example.stored(1, app: 2, version: 10)])
        _ = rig.offer(2)
        #expect(rig.offer(3).answer == .returned)
        #expect(rig.givenUp(1, 2) == [.returned(2)])
        #expect(rig.offer(4).step == .send(3, notification: 4))
        #expect(rig.givenUp(1, 2) == [])
    }

    @Test
    func `An attempt that is given up is discarded if it was the only one`() {
        var rig = LineRig.open()
        _ = rig.offer(Offer(id: nil, destination: Example.destination(), notification: Example.notification(1)))
        let actions = rig.line.givenUp([rig.epoch + 1])
        let subject = NotificationSubject(Example.notification(1), to: Example.destination())
        #expect(actions == [.record(.discarded(.unregistered), subject)])
    }

    @Test
    func `Expired contents are removed and not sent`() {
        var rig = LineRig()
        let past = rig.now
        let next = rig.now.advanced(by: .milliseconds(1))
        let entries = [
            Example.stored(1, app: 1, version: 1, expires: past), Example.stored(2, app: 2, version: 2, expires: next),
        ]
        #expect(rig.read(entries) == [.remove(app: 1, version: 1), .send(1, notification: 2)])
    }

    @Test
    func `Contents that had expired when they were stored are removed and not sent`() {
        var rig = LineRig.open()
        #expect(rig.stored(Example.stored(1, version: 1, expires: rig.now)) == [.remove(app: 1, version: 1)])
    }

    @Test
    func `An offer that expired while it was held is returned, unless it has a single attempt`() {
        var rig = LineRig()
        let next = rig.now.seconds + 1
        _ = rig.offer(Example.offer(1, .at(next)))
        _ = rig.offer(Example.offer(2, .at(next + 1)))
        _ = rig.offer(Example.offer(3, .unspecified))
        _ = rig.offer(Offer(id: nil, destination: Example.destination(), notification: Example.notification(4, .at(1))))
        rig.now = Timestamp(seconds: next)
        #expect(
            rig.read([]) == [
                .returned(1), .send(1, notification: 2), .send(2, notification: 3), .send(3, notification: 4),
            ])
    }

    @Test
    func `A reading that was begun for an older line is ignored`() {
        let older = DeviceLine(
            now: Example.moment, after: 0, limits: DeliveryLimits(unacknowledgedPerDevice: 10), power: .low)
        let number = older.newestNumber
        var rig = LineRig()
        rig.line = DeviceLine(
            now: Example.moment, after: number, limits: DeliveryLimits(unacknowledgedPerDevice: 10), power: .low)
        #expect(rig.read([Example.stored(1, version: 1)], epoch: number) == [])
        #expect(rig.offer(2) == (.taken, nil))
    }

    @Test
    func `A reading without a request is ignored`() {
        var rig = LineRig.open()
        #expect(rig.read([Example.stored(1, version: 1)]) == [])
    }

    // MARK: Stored

    @Test
    func `Newly stored contents are sent on an open line`() {
        var rig = LineRig.open()
        #expect(rig.stored(Example.stored(1, version: 1)) == [.send(1, notification: 1)])
        #expect(rig.acknowledged(1) == [.remove(app: 1, version: 1)])
    }

    @Test
    func `A notification that is under way as an offer is not sent again when it is stored`() {
        var rig = LineRig.open()
        _ = rig.offer(1)
        #expect(rig.stored(Example.stored(1, version: 10), offer: 1) == [])
        #expect(rig.acknowledged(1) == [.acknowledged(1), .remove(app: 1, version: 10)])
    }

    @Test
    func `A notification that was stored with another line's offer is sent`() {
        var rig = LineRig.open()
        #expect(rig.stored(Example.stored(1, version: 10), offer: 1) == [.send(1, notification: 1)])
    }

    @Test
    func `The same version is not sent twice`() {
        var rig = LineRig.open(limit: 100, [Example.stored(1, version: 1)])
        #expect(rig.stored(Example.stored(1, version: 1)) == [])
        _ = rig.acknowledged(1)
        #expect(rig.stored(Example.stored(1, version: 1)) == [])
        #expect(rig.stored(Example.stored(2, version: 2)) == [.send(2, notification: 2)])
    }

    // MARK: Acknowledgements

    @Test
    func `An acknowledgement removes only the version of its attempt`() {
        var rig = LineRig.open(limit: 100, [Example.stored(1, version: 1)])
        _ = rig.stored(Example.stored(2, version: 2))
        #expect(rig.acknowledged(1) == [.remove(app: 1, version: 1)])
        #expect(rig.acknowledged(2) == [.remove(app: 1, version: 2)])
    }

    @Test
    func `An attempt that was not stored has nothing to remove`() {
        var rig = LineRig.open()
        _ = rig.offer(1)
        #expect(rig.acknowledged(1) == [.acknowledged(1)])
    }

    @Test
    func `Numbers that are not under way are ignored`() {
        var rig = LineRig.open()
        _ = rig.offer(1)
        #expect(rig.acknowledged(0, 2, 1000) == [])
        #expect(rig.acknowledged(1, 1) == [.acknowledged(1)])
        #expect(rig.acknowledged(1) == [])
    }

    @Test
    func `Several attempts can be acknowledged at once, in any order`() {
        var rig = LineRig.open()
        for number in 1...3 as ClosedRange<UInt64> { _ = rig.offer(number) }
        #expect(rig.acknowledged(3, 1) == [.acknowledged(3), .acknowledged(1)])
        let count = rig.line.underWayCount
        #expect(count == 1)
    }

    // MARK: The limit

    @Test(arguments: [true, false])
    func `Beyond the limit offers are returned`(isReading: Bool) {
        var rig = isReading ? LineRig(limit: 2) : LineRig.open(limit: 2)
        #expect(rig.offer(1).answer == .taken)
        #expect(rig.offer(2).answer == .taken)
        #expect(rig.offer(3) == (.returned, nil))
    }

    @Test
    func `Contents for which there was no room are read again when half of it is free, and not before`() {
        var rig = LineRig.open(limit: 4)
        for number in 1...4 as ClosedRange<UInt64> { _ = rig.offer(number) }
        #expect(rig.stored(Example.stored(5, app: 2, version: 50)) == [])
        #expect(rig.acknowledged(1) == [.acknowledged(1)])
        #expect(rig.acknowledged(2) == [.acknowledged(2), .read])
        #expect(rig.acknowledged(3) == [.acknowledged(3)])
        #expect(rig.read([Example.stored(5, app: 2, version: 50)]) == [.send(5, notification: 5)])
    }

    @Test
    func `A line without waiting contents is not read again`() {
        var rig = LineRig.open(limit: 2)
        _ = rig.offer(1)
        _ = rig.offer(2)
        #expect(rig.acknowledged(1, 2) == [.acknowledged(1), .acknowledged(2)])
    }

    @Test
    func `Offers do not overtake contents of the app's mailbox that wait`() {
        var rig = LineRig.open(limit: 3)
        for number in 1...3 as ClosedRange<UInt64> { _ = rig.offer(number) }
        _ = rig.stored(Example.stored(4, app: 2, version: 40))
        _ = rig.acknowledged(1)
        #expect(rig.offer(5, app: 2) == (.returned, nil))
        #expect(rig.offer(6, app: 1) == (.taken, .send(4, notification: 6)))
    }

    @Test
    func `Contents for which there is no room during a reading wait, and are read again`() {
        var rig = LineRig(limit: 1)
        let entries = [Example.stored(1, app: 1, version: 1), Example.stored(2, app: 2, version: 2)]
        #expect(rig.read(entries) == [.send(1, notification: 1)])
        #expect(rig.acknowledged(1) == [.remove(app: 1, version: 1), .read])
        #expect(rig.read([entries[1]]) == [.send(2, notification: 2)])
    }

    @Test
    func `A held offer does not overtake waiting contents of its app's mailbox`() {
        var rig = LineRig(limit: 1)
        _ = rig.offer(2)
        // There is no room for the older one, because the newer one uses it. So the newer one goes to the mailbox.
        #expect(rig.read([Example.stored(1, version: 1)]) == [.returned(2), .read])
    }

    // MARK: The end

    @Test
    func `Offers are returned in the order in which they came, sent ones before held ones`() {
        var rig = LineRig.open(limit: 4)
        for number in 1...4 as ClosedRange<UInt64> { _ = rig.offer(number) }
        _ = rig.stored(Example.stored(9, app: 2, version: 90))
        _ = rig.acknowledged(2, 3)  // It is reading, so the next offer is held.
        _ = rig.offer(5)
        _ = rig.offer(6)
        #expect(rig.end() == [.returned(1), .returned(4), .returned(5), .returned(6)])
    }

    @Test
    func `Contents of mailboxes are not returned, and neither are notifications whose outcome nobody waits for`() {
        var rig = LineRig.open(limit: 100, [Example.stored(1, version: 1)])
        _ = rig.offer(Offer(id: nil, destination: Example.destination(), notification: Example.notification(2)))
        #expect(rig.end() == [])
    }

    @Test
    func `A line that has ended has no further actions`() {
        var rig = LineRig.open()
        _ = rig.offer(1)
        _ = rig.end()
        #expect(rig.end() == [])
        #expect(rig.acknowledged(1) == [])
    }

    // MARK: Numbers

    @Test
    func `Numbers grow from line to line, even within a millisecond or if the clock goes back`() {
        var previous: UInt64 = 0
        let moments = [Example.moment, Example.moment, Example.moment.advanced(by: .seconds(-1)), Example.moment]
        for moment in moments {
            var line = DeviceLine(
                now: moment, after: previous, limits: DeliveryLimits(unacknowledgedPerDevice: 10), power: .low)
            let first = line.newestNumber
            #expect(first > previous)
            var silents = DeviceLine.Silents(.unlimited)
            _ = line.read([], epoch: first, now: Example.now(moment), silents: &silents)
            for number in 1...3 as ClosedRange<UInt64> {
                _ = line.offer(Example.offer(number), now: Example.now(moment), silents: &silents)
            }
            previous = line.newestNumber
            #expect(previous == first + 3)
        }
    }

    @Test
    func `A line of a later millisecond begins above an older line that is not known here`() {
        let older = DeviceLine(
            now: Example.moment, after: 0, limits: DeliveryLimits(unacknowledgedPerDevice: 10), power: .low
        )
        .newestNumber
        let newer = DeviceLine(
            now: Example.moment.advanced(by: .milliseconds(1)), after: 0, limits: DeliveryLimits(), power: .low
        ).newestNumber
        #expect(newer == older + DeviceLine.numbersPerMillisecond)
    }

    @Test
    func `For two centuries numbers are small enough for every JSON reader`() {
        let year2226 = Timestamp(seconds: 8_078_400_000)
        #expect(
            DeviceLine(now: year2226, after: 0, limits: DeliveryLimits(unacknowledgedPerDevice: 10), power: .low)
                .newestNumber < 1
                << 53)
    }
}

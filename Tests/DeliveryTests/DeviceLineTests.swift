@testable import Delivery
import Notifications
import Rates
import Testing

/// How one device's stream handles offers, mailboxes and acknowledgements.
@Suite("DeviceLine")
struct DeviceLineTests {
    // MARK: Reading

    @Test("a new line reads its mailboxes")
    func firstAction() {
        let line = DeviceLine(
            now: Example.moment, after: 0, limits: DeliveryLimits(unacknowledgedPerDevice: 1), power: .low)
        let (action, epoch) = (line.firstAction, line.newestNumber)
        #expect(action == .readMailboxes(epoch: epoch))
    }

    @Test("the contents of the mailboxes are sent in their order")
    func sendsMailboxes() {
        var rig = LineRig()
        let entries = [Example.stored(7, app: 2, version: 1), Example.stored(5, app: 1, version: 2)]
        #expect(rig.read(entries) == [.send(1, notification: 7), .send(2, notification: 5)])
    }

    @Test(
        "a notification that the disk has damaged is removed, and the others are sent",
        arguments: ["{\n}", "{ }", "{", "[]", "", "{\"aps\":\"\u{1}\"}"])
    func damaged(_ json: String) {
        var rig = LineRig()
        var bad = Example.stored(1, app: 1, version: 1)
        bad.entry.notification.fields.payload = Payload(stored: Array(json.utf8), contents: [.aps])
        let steps = rig.read([bad, Example.stored(2, app: 2, version: 2)])
        #expect(steps == [.remove(app: 1, version: 1), .send(1, notification: 2)])
    }

    @Test(
        "a topic that would break the line's JSON counts as damage too",
        arguments: ["a\"b", "a\nb", "a\\b", "a\u{7f}b", "ä"])
    func damagedTopic(_ topic: String) {
        var rig = LineRig()
        var bad = Example.stored(1, version: 1)
        bad.entry.notification.fields.topic = topic
        #expect(rig.read([bad]) == [.remove(app: 1, version: 1)])
    }

    @Test("offers are held while the mailboxes are being read, and sent afterwards")
    func holdsOffers() {
        var rig = LineRig()
        #expect(rig.offer(2) == (.taken, nil))
        #expect(rig.offer(3, app: 2) == (.taken, nil))
        #expect(
            rig.read([Example.stored(1, app: 3, version: 1)]) == [
                .send(1, notification: 1), .send(2, notification: 2), .send(3, notification: 3),
            ])
    }

    @Test(
        "an offer that is held while its app's mailbox is read is stored, because the notification there may be newer")
    func heldMayBeReplaced() {
        var rig = LineRig()
        _ = rig.offer(1)
        _ = rig.offer(3, app: 2)
        #expect(
            rig.read([Example.stored(2, version: 20)]) == [
                .send(1, notification: 2), .returned(1), .send(2, notification: 3),
            ])
    }

    @Test("an offer to an open line is sent at once")
    func sendsOffers() {
        var rig = LineRig.open()
        #expect(rig.offer(1) == (.taken, .send(1, notification: 1)))
        #expect(rig.offer(2) == (.taken, .send(2, notification: 2)))
    }

    @Test("if something is stored while the mailboxes are being read, they are read again")
    func readsAgain() {
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

    @Test("mailboxes are read again as often as something is stored meanwhile")
    func readsAgainAndAgain() {
        var rig = LineRig()
        for version in 1...3 as ClosedRange<UInt64> {
            _ = rig.stored(Example.stored(version, version: version))
            #expect(rig.read([]) == [.read])
        }
        #expect(rig.read([Example.stored(3, version: 3)]) == [.send(1, notification: 3)])
    }

    @Test("a held offer that was stored meanwhile is sent once, and its acknowledgement empties the mailbox")
    func heldAndStored() {
        var rig = LineRig()
        _ = rig.offer(1)
        #expect(rig.stored(Example.stored(1, version: 10), offer: 1) == [])
        #expect(rig.read([Example.stored(1, version: 10)]) == [.send(1, notification: 1)])
        #expect(rig.acknowledged(1) == [.acknowledged(1), .remove(app: 1, version: 10)])
    }

    @Test("of an app's held offers, one that is in the mailbox discards older ones and is sent in their place")
    func heldAndReplaced() {
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

    @Test("of held offers of two origins, the one that was stored last discards the other, whatever their numbers")
    func heldOfTwoOrigins() {
        var rig = LineRig()
        var (first, second) = (Example.offer(9), Example.offer(1))
        first.id = OfferID(origin: OfferOrigin(rawValue: 7), number: 9)
        second.id = OfferID(origin: OfferOrigin(rawValue: 8), number: 1)
        for offer in [first, second] { _ = rig.offer(offer) }
        _ = rig.stored(Example.stored(1, version: 10), offer: second.id)
        _ = rig.stored(Example.stored(9, version: 20), offer: first.id)
        #expect(rig.read([Example.stored(9, version: 20)]) == [.send(1, notification: 9), .returned(1)])
    }

    @Test("the version of another origin's offer with the same number is not used")
    func sameNumberOfAnotherOrigin() {
        var rig = LineRig.open()
        _ = rig.offer(1)
        let other = OfferID(origin: OfferOrigin(rawValue: 8), number: 1)
        #expect(rig.stored(Example.stored(2, version: 10), offer: other) == [.send(2, notification: 2)])
        #expect(rig.acknowledged(1) == [.acknowledged(1)])
    }

    @Test("an offer that expired on its way is returned, and one with a single attempt is tried")
    func offeredTooLate() {
        var rig = LineRig.open()
        let second = rig.now.seconds
        #expect(rig.offer(Example.offer(1, .at(second))).answer == .returned)
        #expect(rig.offer(Example.offer(2, .at(second + 1))).answer == .taken)
        let once = Offer(
            id: nil, destination: Example.destination(), notification: Example.notification(3, .at(second)))
        #expect(rig.offer(once).answer == .taken)
    }

    @Test("a late announcement does not affect newer content that waits")
    func lateAnnouncement() {
        var rig = LineRig.open()
        #expect(rig.stored(Example.stored(2, version: 20, priority: .considerate)) == [])
        #expect(rig.stored(Example.stored(1, version: 10)) == [])
        #expect(rig.changed(.awake) == [.send(1, notification: 2)])
    }

    @Test("a line that may have missed something reads again, at once or after the present reading")
    func mayHaveMissed() {
        var rig = LineRig()
        #expect(rig.mayHaveMissed() == [])
        #expect(rig.read([]) == [.read])
        #expect(rig.read([]) == [])
        #expect(rig.mayHaveMissed() == [.read])
        #expect(rig.read([Example.stored(1, version: 10)]) == [.send(1, notification: 1)])
    }

    @Test("attempts that are given up are no longer under way: offers are returned, stored contents stay")
    func givenUp() {
        var rig = LineRig.open(limit: 2, [Example.stored(1, app: 2, version: 10)])
        _ = rig.offer(2)
        #expect(rig.offer(3).answer == .returned)
        #expect(rig.givenUp(1, 2) == [.returned(2)])
        #expect(rig.offer(4).step == .send(3, notification: 4))
        #expect(rig.givenUp(1, 2) == [])
    }

    @Test("an attempt that is given up is discarded if it was the only one")
    func givenUpOnce() {
        var rig = LineRig.open()
        _ = rig.offer(Offer(id: nil, destination: Example.destination(), notification: Example.notification(1)))
        let actions = rig.line.givenUp([rig.epoch + 1])
        let subject = NotificationSubject(Example.notification(1), to: Example.destination())
        #expect(actions == [.note(.discarded(.unregistered), subject)])
    }

    @Test("expired contents are removed and not sent")
    func expired() {
        var rig = LineRig()
        let past = rig.now
        let next = rig.now.advanced(by: .milliseconds(1))
        let entries = [
            Example.stored(1, app: 1, version: 1, expires: past), Example.stored(2, app: 2, version: 2, expires: next),
        ]
        #expect(rig.read(entries) == [.remove(app: 1, version: 1), .send(1, notification: 2)])
    }

    @Test("contents that had expired when they were stored are removed and not sent")
    func expiredWhenStored() {
        var rig = LineRig.open()
        #expect(rig.stored(Example.stored(1, version: 1, expires: rig.now)) == [.remove(app: 1, version: 1)])
    }

    @Test("an offer that expired while it was held is returned, unless it has a single attempt")
    func expiredWhileHeld() {
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

    @Test("a reading that was begun for an older line is ignored")
    func olderReading() {
        let older = DeviceLine(
            now: Example.moment, after: 0, limits: DeliveryLimits(unacknowledgedPerDevice: 10), power: .low)
        let number = older.newestNumber
        var rig = LineRig()
        rig.line = DeviceLine(
            now: Example.moment, after: number, limits: DeliveryLimits(unacknowledgedPerDevice: 10), power: .low)
        #expect(rig.read([Example.stored(1, version: 1)], epoch: number) == [])
        #expect(rig.offer(2) == (.taken, nil))
    }

    @Test("a reading without a request is ignored")
    func secondReading() {
        var rig = LineRig.open()
        #expect(rig.read([Example.stored(1, version: 1)]) == [])
    }

    // MARK: Stored

    @Test("newly stored contents are sent on an open line")
    func storedOnOpenLine() {
        var rig = LineRig.open()
        #expect(rig.stored(Example.stored(1, version: 1)) == [.send(1, notification: 1)])
        #expect(rig.acknowledged(1) == [.remove(app: 1, version: 1)])
    }

    @Test("a notification that is under way as an offer is not sent again when it is stored")
    func storedUnderWay() {
        var rig = LineRig.open()
        _ = rig.offer(1)
        #expect(rig.stored(Example.stored(1, version: 10), offer: 1) == [])
        #expect(rig.acknowledged(1) == [.acknowledged(1), .remove(app: 1, version: 10)])
    }

    @Test("a notification that was stored with another line's offer is sent")
    func storedWithUnknownOffer() {
        var rig = LineRig.open()
        #expect(rig.stored(Example.stored(1, version: 10), offer: 1) == [.send(1, notification: 1)])
    }

    @Test("the same version is not sent twice")
    func sameVersion() {
        var rig = LineRig.open(limit: 100, [Example.stored(1, version: 1)])
        #expect(rig.stored(Example.stored(1, version: 1)) == [])
        _ = rig.acknowledged(1)
        #expect(rig.stored(Example.stored(1, version: 1)) == [])
        #expect(rig.stored(Example.stored(2, version: 2)) == [.send(2, notification: 2)])
    }

    // MARK: Acknowledgements

    @Test("an acknowledgement removes only the version of its attempt")
    func removesItsVersion() {
        var rig = LineRig.open(limit: 100, [Example.stored(1, version: 1)])
        _ = rig.stored(Example.stored(2, version: 2))
        #expect(rig.acknowledged(1) == [.remove(app: 1, version: 1)])
        #expect(rig.acknowledged(2) == [.remove(app: 1, version: 2)])
    }

    @Test("an attempt that was not stored has nothing to remove")
    func offerHasNoVersion() {
        var rig = LineRig.open()
        _ = rig.offer(1)
        #expect(rig.acknowledged(1) == [.acknowledged(1)])
    }

    @Test("numbers that are not under way are ignored")
    func unknownNumbers() {
        var rig = LineRig.open()
        _ = rig.offer(1)
        #expect(rig.acknowledged(0, 2, 1000) == [])
        #expect(rig.acknowledged(1, 1) == [.acknowledged(1)])
        #expect(rig.acknowledged(1) == [])
    }

    @Test("several attempts can be acknowledged at once, in any order")
    func manyAtOnce() {
        var rig = LineRig.open()
        for number in 1...3 as ClosedRange<UInt64> { _ = rig.offer(number) }
        #expect(rig.acknowledged(3, 1) == [.acknowledged(3), .acknowledged(1)])
        let count = rig.line.underWayCount
        #expect(count == 1)
    }

    // MARK: The limit

    @Test("beyond the limit offers are returned", arguments: [true, false])
    func limit(isReading: Bool) {
        var rig = isReading ? LineRig(limit: 2) : LineRig.open(limit: 2)
        #expect(rig.offer(1).answer == .taken)
        #expect(rig.offer(2).answer == .taken)
        #expect(rig.offer(3) == (.returned, nil))
    }

    @Test("contents for which there was no room are read again when half of it is free, and not before")
    func readsWhenHalfFree() {
        var rig = LineRig.open(limit: 4)
        for number in 1...4 as ClosedRange<UInt64> { _ = rig.offer(number) }
        #expect(rig.stored(Example.stored(5, app: 2, version: 50)) == [])
        #expect(rig.acknowledged(1) == [.acknowledged(1)])
        #expect(rig.acknowledged(2) == [.acknowledged(2), .read])
        #expect(rig.acknowledged(3) == [.acknowledged(3)])
        #expect(rig.read([Example.stored(5, app: 2, version: 50)]) == [.send(5, notification: 5)])
    }

    @Test("a line without waiting contents is not read again")
    func doesNotReadAgain() {
        var rig = LineRig.open(limit: 2)
        _ = rig.offer(1)
        _ = rig.offer(2)
        #expect(rig.acknowledged(1, 2) == [.acknowledged(1), .acknowledged(2)])
    }

    @Test("offers do not overtake contents of the app's mailbox that wait")
    func waitingApp() {
        var rig = LineRig.open(limit: 3)
        for number in 1...3 as ClosedRange<UInt64> { _ = rig.offer(number) }
        _ = rig.stored(Example.stored(4, app: 2, version: 40))
        _ = rig.acknowledged(1)
        #expect(rig.offer(5, app: 2) == (.returned, nil))
        #expect(rig.offer(6, app: 1) == (.taken, .send(4, notification: 6)))
    }

    @Test("contents for which there is no room during a reading wait, and are read again")
    func noRoomWhenRead() {
        var rig = LineRig(limit: 1)
        let entries = [Example.stored(1, app: 1, version: 1), Example.stored(2, app: 2, version: 2)]
        #expect(rig.read(entries) == [.send(1, notification: 1)])
        #expect(rig.acknowledged(1) == [.remove(app: 1, version: 1), .read])
        #expect(rig.read([entries[1]]) == [.send(2, notification: 2)])
    }

    @Test("a held offer does not overtake waiting contents of its app's mailbox")
    func heldDoesNotOvertake() {
        var rig = LineRig(limit: 1)
        _ = rig.offer(2)
        // There is no room for the older one, because the newer one uses it. So the newer one goes to the mailbox.
        #expect(rig.read([Example.stored(1, version: 1)]) == [.returned(2), .read])
    }

    // MARK: The end

    @Test("offers are returned in the order in which they came, sent ones before held ones")
    func endReturns() {
        var rig = LineRig.open(limit: 4)
        for number in 1...4 as ClosedRange<UInt64> { _ = rig.offer(number) }
        _ = rig.stored(Example.stored(9, app: 2, version: 90))
        _ = rig.acknowledged(2, 3)  // It is reading, so the next offer is held.
        _ = rig.offer(5)
        _ = rig.offer(6)
        #expect(rig.end() == [.returned(1), .returned(4), .returned(5), .returned(6)])
    }

    @Test("contents of mailboxes are not returned, and neither are notifications whose outcome nobody waits for")
    func endKeepsStored() {
        var rig = LineRig.open(limit: 100, [Example.stored(1, version: 1)])
        _ = rig.offer(Offer(id: nil, destination: Example.destination(), notification: Example.notification(2)))
        #expect(rig.end() == [])
    }

    @Test("a line that has ended has no further actions")
    func endsOnce() {
        var rig = LineRig.open()
        _ = rig.offer(1)
        _ = rig.end()
        #expect(rig.end() == [])
        #expect(rig.acknowledged(1) == [])
    }

    // MARK: Numbers

    @Test("numbers grow from line to line, even within a millisecond or if the clock goes back")
    func numbersGrow() {
        var previous: UInt64 = 0
        let moments = [Example.moment, Example.moment, Example.moment.advanced(by: .seconds(-1)), Example.moment]
        for moment in moments {
            var line = DeviceLine(
                now: moment, after: previous, limits: DeliveryLimits(unacknowledgedPerDevice: 10), power: .low)
            let first = line.newestNumber
            #expect(first > previous)
            var silents = DeviceLine.Silents(.off)
            _ = line.read([], epoch: first, now: Example.now(moment), silents: &silents)
            for number in 1...3 as ClosedRange<UInt64> {
                _ = line.offer(Example.offer(number), now: Example.now(moment), silents: &silents)
            }
            previous = line.newestNumber
            #expect(previous == first + 3)
        }
    }

    @Test("a line of a later millisecond begins above an older line that is not known here")
    func numbersFollowTime() {
        let older = DeviceLine(
            now: Example.moment, after: 0, limits: DeliveryLimits(unacknowledgedPerDevice: 10), power: .low
        )
        .newestNumber
        let newer = DeviceLine(
            now: Example.moment.advanced(by: .milliseconds(1)), after: 0, limits: DeliveryLimits(), power: .low
        ).newestNumber
        #expect(newer == older + DeviceLine.numbersPerMillisecond)
    }

    @Test("for two centuries numbers are small enough for every JSON reader")
    func numbersAreExact() {
        let year2226 = Timestamp(seconds: 8_078_400_000)
        #expect(
            DeviceLine(now: year2226, after: 0, limits: DeliveryLimits(unacknowledgedPerDevice: 10), power: .low)
                .newestNumber < 1
                << 53)
    }
}

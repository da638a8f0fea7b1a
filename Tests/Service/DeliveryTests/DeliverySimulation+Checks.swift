@testable import Delivery
import Notifications
import Rates

/// The rules that must hold, whatever happens in whatever order. Of two notifications to one destination, one comes
/// before the other if both came on one connection, or if it was accepted before the other was submitted, or if its
/// provider had given it up then, because its node was stopped. Otherwise they have no order.
///
/// 1. Every submission is answered exactly once, unless its node dies first.
/// 2. If a notification that may be stored is answered with 200, then at that moment it is acknowledged by the device
///    or on disk, or the same holds for another notification to the same app on the same device that does not come
///    before it.
/// 3. In the end an accepted notification was delivered at least once; or it was replaced by one that does not come
///    before it and that was accepted, or would have been if its node had not died; or it has expired; or its app was
///    removed. For a connected device the end is when nothing is left to do except for notifications that must not wake
///    it. For another device the end is when it has connected again.
/// 4. No notification is sent after its expiration. One that must not be stored is sent at most once, and never stored.
/// 5. A mailbox's content is never replaced by a notification that comes before it, or by one that is rejected. It is
///    not removed before the device has it or it has expired, unless its app is removed.
/// 6. A notification that was accepted before a newer one was submitted on the same connection, and that is not
///    acknowledged, does not come after the newer one on any stream. (A notification with a single attempt waits for
///    nothing, and may come earlier.)
/// 7. The numbers of attempts grow over all streams of a device, on all nodes, and no more attempts than the limit are
///    unacknowledged.
/// 8. To a device with low power, notifications that can wait are sent only when it connects, together with an urgent
///    notification, and in bursts with an interval between them.
/// 9. A node gives an app on a device no more silent notifications than the rate allows.
/// 10. In the end nothing is under way, and all mailboxes are empty.
/// 11. Nothing is stored for an app that is not on its device, and what was stored before it was removed is not sent.
/// 12. A notification with a single attempt is sent to a connected device with room, unless it must not wake the device
///     or is silent.
/// 13. A notification that is stored again does not replace another one that was stored since its first attempt. One that a
///     node passes to the store late, or that is late on its way there, does not replace another node's that was stored since
///     it was accepted.
/// 14. A notification is not refused for another one that had been stored when it was accepted, if its node knows the
///     store's clock and it is stored for the first time.
extension DeliverySimulation {
    /// What is known of one submission.
    struct Record {
        let destination: Destination
        let connection: Connection
        let urgency: Urgency
        let isSilent: Bool
        /// The earlier notifications to the destination that were accepted when it was submitted, or that their
        /// provider had given up.
        let answeredBefore: Set<UInt64>
        /// When the notification expires; nil if it must not be stored.
        var expires: Timestamp?
        /// When the notification was accepted for storing: the time, and how many times something had been stored.
        var accepted: (time: Timestamp, count: Int)?
        /// How many times something had been stored when it was first passed to the store.
        var firstStore: Int?
        /// Whether it was passed to the store late.
        var isLate = false
        /// Whether its provider gave it up while its node was stopped.
        var isGivenUp = false
        var isAccepted = false
        var isAnswered = false
        /// Whether the node died before it answered the provider.
        var isForgotten = false
        var isSafe = false
        var wasStored = false
        var wasReceived = false
        var wasAcknowledged = false
        /// Whether the notification was only in its mailbox when its app was removed.
        var isWithdrawn = false
        /// Whether it was the oldest in a mailbox that was full.
        var isDropped = false
        /// The notifications that replaced it.
        var replacers: Set<UInt64> = []
        var attempts = 0
    }

    /// The recent notifications to a destination that were accepted, or that their provider has given up.
    func answered(_ destination: Destination) -> Set<UInt64> {
        Set(
            records.indices.suffix(50).filter { index in
                let record = records[index]
                return record.destination == destination
                    && (record.isGivenUp || record.isAccepted && record.expires != nil)
            }.map { UInt64($0 + 1) })
    }

    /// Whether one notification comes before another to the same destination.
    func precedes(_ first: UInt64, _ second: UInt64) -> Bool {
        let (one, other) = (records[Int(first) - 1], records[Int(second) - 1])
        return one.connection == other.connection && first < second || other.answeredBefore.contains(first)
    }

    func answer(_ number: UInt64, _ outcome: Outcome) {
        let record = records[Int(number) - 1]
        if record.isAnswered {
            if fault != .answersBeforeCommit { problems.append("\(number) was answered twice") }
            return
        }
        records[Int(number) - 1].isAnswered = true
        records[Int(number) - 1].isAccepted = outcome == .accepted
        guard outcome == .accepted, record.expires != nil, !record.isSafe else { return }
        if keeps(record.destination) {
            // None replaces another, unless it was in the mailbox before.
            if !isReplaced(number, record), !record.isDropped {
                problems.append("\(number) was accepted and is not kept")
            }
            return
        }
        let others = safe[record.destination, default: []]
        if !others.contains(where: { !precedes($0, number) }) {
            problems.append("\(number) was accepted and is nowhere")
        }
    }

    /// Records that a notification is on disk, or that the device has it.
    func recordSafe(_ number: UInt64) {
        let destination = records[Int(number) - 1].destination
        records[Int(number) - 1].isSafe = true
        safe[destination] = (safe[destination, default: []] + [number]).suffix(30)
    }

    func recordReplaced(_ older: UInt64, by newer: UInt64) {
        if older != newer { records[Int(older) - 1].replacers.insert(newer) }
    }

    /// Records a step that `Acceptances` has reported.
    func recordStep(_ step: DeliveryStep, of subject: NotificationSubject) {
        switch step {
        case .replaced(let newer), .coalesced(let newer): recordReplaced(subject.id.low, by: newer.low)
        default: break
        }
    }

    /// Records that the courier has received the acknowledgement of an attempt.
    func recordAcknowledged(_ attempt: UInt64, _ device: Device) {
        guard let number = numbers[device.key]?[attempt] else { return }
        records[Int(number) - 1].wasAcknowledged = true
        if records[Int(number) - 1].expires != nil { recordSafe(number) }
    }

    func checkAttempt(_ attempt: DeliveryAttempt, on attached: AttachedLine, of node: Node) {
        let number = attempt.notification.number
        let (device, stream, app) = (attempt.destination.deviceKey, attached.stream, attempt.destination.app)
        let record = records[Int(number) - 1]
        records[Int(number) - 1].attempts += 1
        numbers[device, default: [:]][attempt.number] = number

        if let expires = record.expires {
            if expires <= now { problems.append("\(number) was sent after it had expired") }
        } else if record.attempts > 0 || record.wasStored {
            problems.append("\(number) was not for storing, and sent again")
        }
        if record.isWithdrawn { problems.append("\(number) was sent after its app was removed") }
        // In a mailbox that keeps more, silent notifications that wait for the rate delay no others.
        if let newer = stream.newestSent[app]?[record.connection], newer > number, !stream.sent.contains(number),
            !record.wasAcknowledged, !record.isSilent || !keeps(record.destination),
            records[Int(newer) - 1].answeredBefore.contains(number)
        {
            problems.append("\(number) came after \(newer), which was submitted when it had been accepted")
        }
        checkRegard(number, record, on: attached, of: node)
        stream.sent.insert(number)
        if record.expires != nil {
            let newest = stream.newestSent[app]?[record.connection] ?? 0
            stream.newestSent[app, default: [:]][record.connection] = max(number, newest)
        }

        if let known = devices.first(where: { $0.key == device }), !isCluster || known.stream === stream {
            if attempt.number <= known.newestNumber, fault != .numbersStartAgain {
                problems.append("the number \(attempt.number) came after \(known.newestNumber)")
            }
            known.newestNumber = max(known.newestNumber, attempt.number)
        }
        let underWay = attached.line.underWayCount
        if underWay > limits.unacknowledgedPerDevice { problems.append("\(underWay) are under way") }
    }

    /// Checks rule 12.
    func checkSingleAttempt(_ offer: Offer, _ answer: OfferAnswer, on line: borrowing DeviceLine) -> OfferAnswer {
        let notification = offer.notification
        if answer == .returned, line.hasRoom, notification.urgency != .low, !notification.isSilent {
            problems.append("\(notification.number) had one attempt, and was not sent")
        }
        return answer
    }

    /// Checks rules 8 and 9 for a notification that was sent.
    private func checkRegard(_ number: UInt64, _ record: Record, on attached: AttachedLine, of node: Node) {
        let stream = attached.stream
        if record.isSilent { checkSilents(record.destination, of: node) }
        guard record.urgency != .immediate, record.expires != nil, attached.power == .low,
            number > stream.releasedUpTo, !stream.isReleasing
        else { return }
        if !stream.isTicking {
            problems.append("\(number) woke the device")
        } else if now != stream.lastBurst, now < stream.lastBurst.advanced(by: limits.burstInterval) {
            problems.append("\(number) came in a burst too soon after another")
        }
        stream.lastBurst = now
    }

    private func checkSilents(_ destination: Destination, of node: Node) {
        let attempts = node.silentAttempts[destination, default: []] + [now]
        node.silentAttempts[destination] = attempts.suffix(20)
        let rate = limits.silentsPerApp
        for (index, first) in attempts.enumerated() {
            let seconds = Double(now.milliseconds - first.milliseconds) / 1000
            if Double(attempts.count - index) > Double(rate.burst) + seconds * rate.perSecond + 0.01 {
                return problems.append("too many silent notifications")
            }
        }
    }

    /// Checks that what was accepted for these devices has arrived, unless a rule excuses it.
    func checkRest(of devices: [Device], isEnd: Bool = false) {
        let keys = Set(devices.map(\.key))
        for index in records.indices {
            let (record, number) = (records[index], UInt64(index + 1))
            guard keys.contains(record.destination.deviceKey), let expires = record.expires,
                number > droppedUpTo[record.destination] ?? 0
            else { continue }
            // Such a notification never wakes a device. Even after a connection it may still wait, because of the
            // rate.
            let mayWait = record.urgency == .low && (!isEnd || record.isSilent)
            if record.isAccepted, !mayWait, !record.wasReceived, !record.isDropped, expires > now,
                !isReplaced(number, record)
            {
                problems.append("\(number) was accepted and never arrived")
            }
        }
        for stored in contents where !active.contains(stored.entry.destination) {
            problems.append("\(stored.entry.notification.number) is stored for an app that was removed")
        }
    }

    /// - Parameter depth: how many replacements may follow one another, of which only the last was accepted.
    private func isReplaced(_ number: UInt64, _ record: Record, depth: Int = 4) -> Bool {
        record.replacers.contains { newer in
            let other = records[Int(newer) - 1]
            guard !precedes(newer, number) else { return false }
            // One whose result was never known may have been stored before it was rejected, and was replaced then.
            return other.isAccepted || other.wasStored && other.isForgotten
                || other.wasStored && depth > 0 && isReplaced(newer, other, depth: depth - 1)
        }
    }

    func checkEnd() {
        for index in records.indices where !records[index].isAnswered && !records[index].isForgotten {
            problems.append("\(index + 1) was never answered")
        }
        for stored in contents
        where stored.entry.expires > now
            && !(stored.entry.notification.urgency == .low && stored.entry.notification.isSilent)
        {
            problems.append("\(stored.entry.notification.number) was acknowledged and is still stored")
        }
    }
}

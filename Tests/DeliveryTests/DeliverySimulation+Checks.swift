@testable import Delivery
import Notifications
import Rates

/// What must hold, whatever happens in whatever order:
///
/// 1. Every submission is answered exactly once, unless the service dies before.
/// 2. What is answered with 200 and may be stored is, at that moment, taken by the device or on disk, or something
///    newer for the same app on the same device is.
/// 3. In the end it was delivered at least once, or something newer took its place that was accepted, or would have
///    been but for the service dying, or it has expired. For a device that is connected the end is when nothing is left
///    to do, but for what must not wake it; for another, when it has connected again.
/// 4. Nothing is sent from the moment on at which it expires. What may not be stored is sent once at most, and never
///    stored.
/// 5. A mailbox's content is never replaced by something older, nor by something that is rejected; and it is never
///    removed before the device has had it or it has expired.
/// 6. What was accepted before something newer was submitted, and is not acknowledged, does not come after that on any
///    stream. (What is tried once alone waits for nothing, and may come earlier.)
/// 7. Numbers of sendings grow, over all streams of a device, and no more are under way than the limit.
/// 8. What has regard to the device's power is sent to a device that sleeps only when it connects, when there is
///    something immediate for it, and in bursts with an interval between them.
/// 9. An app on a device gets no more silent notifications than the rate allows.
/// 10. In the end nothing is under way, and all mailboxes are empty.
extension DeliverySimulation {
    /// What is known of one submission.
    struct Record {
        let destination: Destination
        /// Nil for what may not be stored.
        let expires: Timestamp?
        let urgency: Urgency
        let isSilent: Bool
        /// Which earlier ones for the destination had been accepted when it was submitted.
        let answeredBefore: Set<UInt64>
        var isAccepted = false
        var isAnswered = false
        var isRejected: Bool { isAnswered && !isAccepted }
        /// The service died before it answered.
        var isForgotten = false
        var wasStored = false
        var wasReceived = false
        var wasAcknowledged = false
        var sendings = 0
    }

    /// The recent ones for a destination that were accepted and are not acknowledged.
    func answered(_ destination: Destination) -> Set<UInt64> {
        Set(
            records.indices.suffix(50).filter { index in
                records[index].destination == destination && records[index].isAccepted && records[index].expires != nil
            }.map { UInt64($0 + 1) })
    }

    func answer(_ number: UInt64, _ outcome: Outcome) {
        let record = records[Int(number) - 1]
        if record.isAnswered {
            if fault != .answersBeforeCommit { problems.append("\(number) was answered twice") }
            return
        }
        records[Int(number) - 1].isAnswered = true
        records[Int(number) - 1].isAccepted = outcome == .accepted
        if outcome == .accepted, record.expires != nil, newestSafe[record.destination, default: 0] < number {
            problems.append("\(number) was accepted and is nowhere")
        }
    }

    /// It is on disk, or the device has it.
    func noteSafe(_ number: UInt64) {
        let destination = records[Int(number) - 1].destination
        newestSafe[destination] = max(number, newestSafe[destination, default: 0])
    }

    /// The courier has taken the acknowledgement of a sending.
    func noteAcknowledged(_ sending: UInt64, _ device: Device) {
        guard let number = numbers[device.key]?[sending] else { return }
        records[Int(number) - 1].wasAcknowledged = true
        if records[Int(number) - 1].expires != nil { noteSafe(number) }
    }

    func checkSending(_ sending: Sending, on attached: AttachedLine) {
        let number = sending.notification.number
        let (device, stream, app) = (sending.destination.deviceKey, attached.stream, sending.destination.app)
        let record = records[Int(number) - 1]
        records[Int(number) - 1].sendings += 1
        numbers[device, default: [:]][sending.number] = number

        if let expires = record.expires {
            if expires <= now { problems.append("\(number) was sent after it had expired") }
        } else if record.sendings > 0 || record.wasStored {
            problems.append("\(number) was not for storing, and sent again")
        }
        if let newer = stream.newestSent[app], newer > number, !stream.sent.contains(number),
            !record.wasAcknowledged, records[Int(newer) - 1].answeredBefore.contains(number)
        {
            problems.append("\(number) came after \(newer), which was submitted when it had been accepted")
        }
        checkRegard(number, record, on: attached)
        stream.sent.insert(number)
        if record.expires != nil { stream.newestSent[app] = max(number, stream.newestSent[app, default: 0]) }

        if let known = devices.first(where: { $0.key == device }) {
            if sending.number <= known.newestNumber, fault != .numbersStartAgain {
                problems.append("the number \(sending.number) came after \(known.newestNumber)")
            }
            known.newestNumber = max(known.newestNumber, sending.number)
        }
        let underWay = attached.line.underWayCount
        if underWay > limits.unacknowledgedPerDevice { problems.append("\(underWay) are under way") }
    }

    /// That what has regard to the device's power, and what is silent, was sent at a good time.
    private func checkRegard(_ number: UInt64, _ record: Record, on attached: AttachedLine) {
        let stream = attached.stream
        if record.isSilent { checkSilents(record.destination) }
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

    private func checkSilents(_ destination: Destination) {
        let sendings = silentSendings[destination, default: []] + [now]
        silentSendings[destination] = sendings.suffix(20)
        let rate = limits.silentsPerApp
        for (index, first) in sendings.enumerated() {
            let seconds = Double(now.milliseconds - first.milliseconds) / 1000
            if Double(sendings.count - index) > Double(rate.burst) + seconds * rate.perSecond + 0.01 {
                return problems.append("too many silent notifications")
            }
        }
    }

    /// What was accepted for these devices has arrived, or need not.
    func checkRest(of devices: [Device], isEnd: Bool = false) {
        let keys = Set(devices.map(\.key))
        var newest: Set<Destination> = []
        for index in records.indices.reversed() {
            let record = records[index]
            guard keys.contains(record.destination.deviceKey), let expires = record.expires else { continue }
            let isReplaced = newest.contains(record.destination)
            if record.isAccepted || record.wasStored && record.isForgotten { newest.insert(record.destination) }
            // It never wakes a device; after a connection it may have been throttled, and waits then.
            let mayWait = record.urgency == .low && (!isEnd || record.isSilent)
            if record.isAccepted, !mayWait, !record.wasReceived, !isReplaced, expires > now {
                problems.append("\(index + 1) was accepted and never arrived")
            }
        }
    }

    func checkEnd() {
        for index in records.indices where !records[index].isAnswered && !records[index].isForgotten {
            problems.append("\(index + 1) was never answered")
        }
        for stored in mailboxes.values
        where stored.entry.expires > now
            && !(stored.entry.notification.urgency == .low && stored.entry.notification.isSilent)
        {
            problems.append("\(stored.entry.notification.number) was acknowledged and is still stored")
        }
    }
}

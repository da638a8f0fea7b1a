import DequeModule
import Notifications
import Rates

// How a device line handles offers, and which of them it holds back.
extension DeviceLine {
    /// Handles a notification for one of the device's apps.
    mutating func offer(_ offer: Offer, now: Moment, silents: inout Silents) -> Offered {
        defer { assert(checkInvariants()) }
        let mailbox = offer.destination.mailbox
        guard hasRoom else { return Offered(answer: .returned, limitExceeded: .unacknowledged) }
        // The notification may have expired on its way from another node.
        if offer.id != nil, offer.notification.expiration.hasPassed(at: time(now, of: mailbox)) { return .returned }
        let before = waiting[mailbox]
        if case .reading(var reading) = phase, reading.isFirst || before?.reason == .reading {
            if offer.notification.urgency == .immediate { reading.releases = true }
            phase = .reading(reading)
            return hold(offer, after: before)
        }
        // A notification for the app waits until its mailbox is read again. This one must not overtake it, but may
        // replace it in the mailbox. One that must not be stored waits for nothing: its single attempt is now.
        if let before, !before.isDeferred, offer.id != nil { return .returned }
        if let wait = policy.wait(for: offer.notification, isBurst: false) {
            return deferOrTry(offer, wait, isBehind: before != nil, now)
        }
        // If notifications are deferred, send them now, because this one wakes the device in any case.
        let first = deferred.isEmpty && !holdsBroadcasts ? [] : sendDeferred(now, &silents)
        // Sending them may have changed what waits for the app.
        if let older = waiting[mailbox], older.isDeferred {
            // Read the notifications that were held back in mailboxes. They are older than this one, so they are sent
            // first.
            let reading = release()
            var offered = hold(offer, after: older)
            (offered.first, offered.then) = (first, reading.map(Offered.Then.read))
            return offered
        }
        if let wait = SendingPolicy.throttle(offer.notification, to: offer.destination, now, &silents) {
            guard offer.id == nil else { return .returned }
            let subject = NotificationSubject(offer.notification, to: offer.destination)
            return Offered(answer: .returned, then: .record(wait.step, subject))
        }
        let attempt = send(offer.destination, offer.notification, offer: offer.id, version: nil, now)
        let reading = offer.notification.urgency == .immediate ? release() : nil
        return Offered(answer: .taken, first: first, attempt: attempt, then: reading.map(Offered.Then.read))
    }

    mutating func hold(_ offer: Offer, after before: Waiting?) -> Offered {
        held.append(Held(offer: offer, after: before?.version))
        return Offered(answer: .taken)
    }

    /// Begins to read the mailboxes for notifications that wait for a burst.
    /// - Returns: nil if none waits, or if a reading is in progress.
    mutating func release() -> ReadRequest? {
        if case .open = phase, !waiting.values.contains(where: \.isDeferred) { return nil }
        return readAgain(releases: true)
    }

    /// Begins to read the mailboxes.
    /// - Returns: nil if a reading is in progress. The line then reads once more after it.
    mutating func readAgain(releases: Bool) -> ReadRequest? {
        switch phase {
        case .open:
            phase = .reading(Reading(releases: releases))
            // Whatever each app's notification has waited for, this reading now finds it in its mailbox.
            for mailbox in waiting.keys { waiting[mailbox]?.beginReading() }
            return ReadRequest(epoch: epoch)
        case .reading(var reading):
            reading.releases = reading.releases || releases
            phase = .reading(reading)
            return nil
        }
    }
}

extension DeviceLine {
    /// Sends the offers that were held during the reading. Offers are returned if they have expired meanwhile, may
    /// have been replaced in the mailbox, or would overtake a notification in the mailbox. If a newer held offer has
    /// replaced a notification in the mailbox, that notification is not sent: new content of a mailbox discards the
    /// older one (Guide, 2.1.3).
    mutating func sendHeld(after reading: Reading, _ now: Moment, _ silents: inout Silents) -> [Action] {
        var actions: [Action] = []
        var passed: Set<DeviceMailbox> = []
        let stored = newestStoredOfHeld()
        var place = 0
        while let next = held.popFirst() {
            place += 1
            let (mailbox, notification) = (next.offer.destination.mailbox, next.offer.notification)
            let version = next.offer.id.flatMap { versionsOfHeld.removeValue(forKey: $0) }
            guard let id = next.offer.id else {
                actions += tryOnce(next.offer, releases: reading.releases, now, &silents)
                continue
            }
            let isDiscarded = stored[mailbox].map { $0.discards(version, at: place) } ?? false
            if isDiscarded || notification.expiration.hasPassed(at: time(now, of: mailbox)) {
                actions.append(.returned(id, next.offer.destination))
                continue
            }
            var wait: SendingPolicy.Wait?
            let isPassed = passed.contains(mailbox) || isPassed(next, version, by: reading)
            if !isPassed {
                wait = policy.wait(for: notification, isBurst: reading.releases)
                if let wait, canDefer {
                    let waiting = Deferred(
                        destination: next.offer.destination, notification: notification, offer: id, version: version)
                    append(waiting, wait, now)
                    actions.append(.record(wait.step, waiting.subject))
                    continue
                }
                wait =
                    wait ?? SendingPolicy.throttle(notification, to: next.offer.destination, now, &silents)
                guard wait != nil else {
                    let attempt = send(next.offer.destination, notification, offer: id, version: version, now)
                    actions.append(.send(attempt))
                    continue
                }
            }
            passed.insert(mailbox)
            actions.append(.returned(id, next.offer.destination))
            // The notification is also in its mailbox. Record why it waits there, so that a later reading sends it.
            if let wait, let version {
                begin(wait, in: version, of: mailbox, now)
                actions.append(.record(wait.step, NotificationSubject(notification, to: next.offer.destination)))
            }
        }
        return actions
    }

    /// The newest mailbox content among the held offers of a mailbox.
    private struct StoredOfHeld {
        let version: MailboxVersion
        /// The offer's position among the held offers, from 1.
        let place: Int

        /// Whether this offer has replaced another held offer of the app in the mailbox. If the other's version is
        /// not known, the one that came first counts as older. For offers of the same node, that is the order of
        /// acceptance. Offers of different nodes have no order, so either of them may count as older, and none is
        /// lost: a returned offer is stored by its node.
        func discards(_ other: MailboxVersion?, at place: Int) -> Bool {
            other.map { $0 < version } ?? (place < self.place)
        }
    }

    private func newestStoredOfHeld() -> [DeviceMailbox: StoredOfHeld] {
        guard !versionsOfHeld.isEmpty else { return [:] }
        var newest: [DeviceMailbox: StoredOfHeld] = [:]
        for (index, offer) in held.lazy.map(\.offer).enumerated() {
            // A mailbox that keeps more has the others too.
            guard let version = offer.id.flatMap({ versionsOfHeld[$0] }), !version.isKept else { continue }
            let mailbox = offer.destination.mailbox
            guard newest[mailbox].map({ $0.version < version }) ?? true else { continue }
            newest[mailbox] = StoredOfHeld(version: version, place: index + 1)
        }
        return newest
    }

    /// Whether this offer must not be sent now, because the mailbox has or had a notification that may be newer, or
    /// has one that this offer would overtake.
    func isPassed(_ held: Held, _ version: MailboxVersion?, by reading: Reading) -> Bool {
        let mailbox = held.offer.destination.mailbox
        guard let version else {
            guard waiting[mailbox] == nil else { return true }
            guard let met = reading.met[mailbox] else { return false }
            return held.after.map { $0 < met } ?? true
        }
        // In a mailbox that keeps more, others that are older may still wait.
        if version.isKept, let before = waiting[mailbox], before.reason == .room || before.isDeferred { return true }
        return reading.met[mailbox].map { version < $0 } ?? false
    }

    /// Makes the single attempt of a notification that must not be stored.
    mutating func tryOnce(
        _ offer: Offer,
        releases: Bool,
        _ now: Moment,
        _ silents: inout Silents,
    ) -> [Action] {
        let notification = offer.notification
        let subject = NotificationSubject(notification, to: offer.destination)
        guard policy.tries(notification, isBurst: releases) else { return [.record(.discarded(.oneAttempt), subject)] }
        if let wait = SendingPolicy.throttle(notification, to: offer.destination, now, &silents) {
            return [.record(wait.step, subject), .record(.discarded(.oneAttempt), subject)]
        }
        return [.send(send(offer.destination, notification, offer: nil, version: nil, now))]
    }
}

extension Expiration {
    func hasPassed(at now: Timestamp) -> Bool {
        if case .at(let seconds) = self { Timestamp(seconds: seconds) <= now } else { false }
    }
}

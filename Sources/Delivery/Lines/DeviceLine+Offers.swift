import DequeModule
import Notifications
import Rates

// What is offered to a line, and what it holds back of that.
extension DeviceLine {
    /// A notification for one of the device's apps.
    mutating func offer(_ offer: Offer, now: Moment, silents: inout Silents) -> Offered {
        let app = offer.destination.app
        guard hasRoom else { return .returned }
        let before = waiting[app]
        if case .reading(var reading) = phase, reading.isFirst || before?.reason == .reading {
            if offer.notification.urgency == .immediate { reading.releases = true }
            phase = .reading(reading)
            return hold(offer, after: before)
        }
        // What waits for its mailbox to be read again must not be overtaken, but may be replaced there.
        if let before, !before.isDeferred { return .returned }
        guard offer.notification.urgency == .immediate || power.takesEverything else {
            return offerWithRegard(offer, now)
        }
        if before != nil {
            // What was held back goes first: it is in the mailbox, and this comes after it.
            let reading = release()
            var offered = hold(offer, after: before)
            offered.then = reading
            return offered
        }
        guard !offer.notification.isSilent || silents.admits(offer.destination, at: now.uptime.nanoseconds) else {
            guard offer.id == nil else { return .returned }
            let subject = NotificationSubject(offer.notification, to: offer.destination)
            return Offered(answer: .returned, then: .note(.throttled, subject))
        }
        let sending = send(offer.destination, offer.notification, offer: offer.id, version: nil, now)
        return Offered(
            answer: .taken, sending: sending, then: offer.notification.urgency == .immediate ? release() : nil)
    }

    /// The device sleeps, and this is no reason to wake it: it goes to the mailbox. What may not be stored has one
    /// attempt, which is now, unless it may not even wake the device.
    mutating func offerWithRegard(_ offer: Offer, _ now: Moment) -> Offered {
        guard offer.id == nil, offer.notification.urgency == .considerate, !offer.notification.isSilent else {
            return .returned
        }
        return Offered(
            answer: .taken, sending: send(offer.destination, offer.notification, offer: nil, version: nil, now))
    }

    mutating func hold(_ offer: Offer, after before: Waiting?) -> Offered {
        held.append(Held(offer: offer, after: before?.version))
        return Offered(answer: .taken)
    }

    /// Begins to read the mailboxes for what waits for a burst.
    /// - Returns: nil where nothing does, or the reading is under way.
    mutating func release() -> Action? {
        if case .open = phase, !waiting.values.contains(where: \.isDeferred) { return nil }
        return readAgain(releases: true)
    }

    /// - Returns: nil where a reading is under way, which then does it.
    mutating func readAgain(releases: Bool) -> Action? {
        switch phase {
        case .open:
            phase = .reading(Reading(releases: releases))
            // From here on, what was waiting for anything waits for the reading.
            for app in waiting.keys { waiting[app]?.reason = .reading }
            return .readMailboxes(epoch: epoch)
        case .reading(var reading):
            reading.releases = reading.releases || releases
            phase = .reading(reading)
            return nil
        }
    }
}

extension DeviceLine {
    /// Sends what was held. What has expired meanwhile goes back, and to the mailbox; likewise what may have been
    /// replaced there while it was held, or would overtake what waits there. What a newer one that is held too has
    /// replaced there is not sent either: a mailbox's content discards the older (Guide, 2.1.3).
    mutating func sendHeld(after reading: Reading, _ now: Moment, _ silents: inout Silents) -> [Action] {
        var actions: [Action] = []
        var passed: Set<AppID> = []
        let stored = newestStoredOfHeld()
        var place = 0
        while let next = held.popFirst() {
            place += 1
            let (app, notification) = (next.offer.destination.app, next.offer.notification)
            let version = next.offer.id.flatMap { versionsOfHeld.removeValue(forKey: $0) }
            guard let id = next.offer.id else {
                actions += tryOnce(next.offer, releases: reading.releases, now, &silents)
                continue
            }
            let isDiscarded = stored[app].map { $0.discards(version, at: place) } ?? false
            if isDiscarded || notification.expiration.hasPassed(at: now.time) {
                actions.append(.returned(id, next.offer.destination))
                continue
            }
            let isPassed = passed.contains(app) || isPassed(next, version, by: reading)
            let isDeferred = !reading.releases && !power.takesEverything && notification.urgency != .immediate
            if !isPassed, !isDeferred,
                !notification.isSilent || silents.admits(next.offer.destination, at: now.uptime.nanoseconds)
            {
                let sending = send(next.offer.destination, notification, offer: id, version: version, now)
                actions.append(.send(sending))
                continue
            }
            passed.insert(app)
            actions.append(.returned(id, next.offer.destination))
            // It is in the mailbox already, where the next reading finds it.
            if !isPassed, let version { actions += wait(next.offer, version, isDeferred: isDeferred, now, silents) }
        }
        return actions
    }

    /// The newest content of a mailbox that a held offer is known to be.
    private struct StoredOfHeld {
        let version: MailboxVersion
        /// Which of the held offers that is, counted from 1.
        let place: Int

        /// Whether it has replaced another of the app's held offers. One that is not known to be in the mailbox is older
        /// if it came before: that is the order of acceptance where both have one origin, and where they have not, either
        /// order is right, and what is given back loses nothing.
        func discards(_ other: MailboxVersion?, at place: Int) -> Bool {
            other.map { $0 < version } ?? (place < self.place)
        }
    }

    private func newestStoredOfHeld() -> [AppID: StoredOfHeld] {
        guard !versionsOfHeld.isEmpty else { return [:] }
        var newest: [AppID: StoredOfHeld] = [:]
        for (index, offer) in held.lazy.map(\.offer).enumerated() {
            guard let version = offer.id.flatMap({ versionsOfHeld[$0] }) else { continue }
            let app = offer.destination.app
            guard newest[app].map({ $0.version < version }) ?? true else { continue }
            newest[app] = StoredOfHeld(version: version, place: index + 1)
        }
        return newest
    }

    /// Whether the mailbox has, or had, something that may be newer, or that an offer would overtake.
    func isPassed(_ held: Held, _ version: MailboxVersion?, by reading: Reading) -> Bool {
        let app = held.offer.destination.app
        guard let version else {
            guard waiting[app] == nil else { return true }
            guard let met = reading.met[app] else { return false }
            return held.after.map { $0 < met } ?? true
        }
        return reading.met[app].map { version < $0 } ?? false
    }

    mutating func wait(
        _ offer: Offer,
        _ version: MailboxVersion,
        isDeferred: Bool,
        _ now: Moment,
        _ silents: borrowing Silents,
    ) -> [Action] {
        let reason: Waiting.Reason
        if isDeferred {
            reason = offer.notification.urgency == .low ? .company : .burst
        } else {
            reason = .rate(until: Uptime(nanoseconds: silents.opens(offer.destination)))
        }
        if reason == .burst { burstAt = burstAt ?? now.uptime.advanced(by: burstInterval) }
        waiting[offer.destination.app] = Waiting(reason: reason, version: version, noted: reason.step)
        return reason.step.map { [.note($0, NotificationSubject(offer.notification, to: offer.destination))] } ?? []
    }

    /// The one attempt of what may not be stored.
    mutating func tryOnce(
        _ offer: Offer,
        releases: Bool,
        _ now: Moment,
        _ silents: inout Silents,
    ) -> [Action] {
        let notification = offer.notification
        let subject = NotificationSubject(notification, to: offer.destination)
        let mayWake = notification.urgency != .low && !notification.isSilent
        guard releases || power.takesEverything || mayWake else { return [.note(.discarded(.oneAttempt), subject)] }
        guard !notification.isSilent || silents.admits(offer.destination, at: now.uptime.nanoseconds) else {
            return [.note(.throttled, subject), .note(.discarded(.oneAttempt), subject)]
        }
        return [.send(send(offer.destination, notification, offer: nil, version: nil, now))]
    }
}

extension Expiration {
    fileprivate func hasPassed(at now: Timestamp) -> Bool {
        if case .at(let seconds) = self { Timestamp(seconds: seconds) <= now } else { false }
    }
}

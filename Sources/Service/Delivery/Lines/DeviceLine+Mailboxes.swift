import Notifications
import Rates

// How a device line handles the contents of the device's mailboxes.
extension DeviceLine {
    /// Handles the new content of one of the device's mailboxes.
    mutating func stored(
        _ stored: StoredMailboxEntry,
        offer: OfferID?,
        now: Moment,
        silents: inout Silents,
    ) -> [Action] {
        defer { assert(checkInvariants()) }
        let mailbox = stored.entry.destination.mailbox
        if let offer {
            if let number = underWay.firstNumber(where: { $0.offer == offer }) {
                underWay[number]?.version = stored.version
                if !stored.version.isKept {
                    versions[mailbox] = max(stored.version, versions[mailbox] ?? stored.version)
                }
                return []
            }
            if held.contains(where: { $0.offer.id == offer }) {
                versionsOfHeld[offer] = stored.version
                return []
            }
            if storedDeferred(offer, stored.version) { return [] }
        }
        if stored.version.isKept { return storedKept(stored, now, &silents) }
        // Announcements of other nodes may arrive in any order, so ignore an older one.
        guard isNews(stored), waiting[mailbox].map({ $0.version < stored.version }) ?? true else { return [] }
        switch phase {
        case .reading(var reading):
            reading.isStale = true
            phase = .reading(reading)
            waiting[mailbox] = Waiting(reason: .reading, version: stored.version)
            return []
        case .open:
            let before = waiting.removeValue(forKey: mailbox)
            guard before?.reason != .room else {
                waiting[mailbox] = Waiting(reason: .room, version: stored.version)
                return []
            }
            let actions = sendOrWait(stored, releases: false, before: before, now, &silents)
            // The notification may have expired. Then it did not wake the device.
            guard stored.entry.notification.urgency == .immediate, actions.contains(where: \.isSending),
                let reading = release()
            else { return actions }
            return actions + [.read(reading)]
        }
    }

    /// Handles all contents of the mailboxes.
    mutating func read(
        _ entries: [StoredMailboxEntry],
        epoch: UInt64,
        now: Moment,
        silents: inout Silents,
    ) -> [Action] {
        read(MailboxPage(entries: entries), epoch: epoch, now: now, silents: &silents)
    }

    /// Handles the contents of the mailboxes that were read, of those that keep more a page.
    mutating func read(
        _ page: MailboxPage,
        epoch: UInt64,
        now: Moment,
        silents: inout Silents,
    ) -> [Action] {
        defer { assert(checkInvariants()) }
        guard epoch == self.epoch, case .reading(var reading) = phase else { return [] }
        let before = reading.isContinued ? reading.before : waiting
        if reading.isContinued {
            endReadingOfPage()
        } else {
            waiting.removeAll()
            kept?.beginReading()
        }
        var page = page
        if mustRelease(for: page, reading, now) {
            reading.releases = true
            // Something on an earlier page was left waiting that comes before it: begin again.
            if reading.isContinued {
                reading.isStale = true
                reading.stale.formUnion(page.entries.filter(\.version.isKept).map(\.entry.destination.mailbox))
                page.entries = []
            }
        }
        var actions: [Action] = []
        if reading.releases {
            policy.endBurst()
            actions = sendDeferred(now, &silents)
        }
        let ofHeld = offersByVersion()
        for stored in page.entries where isNews(stored, ofHeld) {
            let mailbox = stored.entry.destination.mailbox
            let offer = stored.version.isKept ? ofHeld[stored.version] : nil
            if let offer { forgetHeld(offer) }
            reading.met[mailbox] = max(stored.version, reading.met[mailbox] ?? stored.version)
            actions += sendOrWait(
                stored, offer: offer, releases: reading.releases, before: before[mailbox], now, &silents)
        }
        if !reading.isStale, let last = page.last, goesOn(after: page) {
            (reading.isContinued, reading.before) = (true, before)
            waitForReading(reading.stale)
            phase = .reading(reading)
            return actions + [.read(ReadRequest(epoch: epoch, after: last))]
        }
        (reading.isContinued, reading.before) = (false, [:])
        if reading.isStale {
            reading.isStale = false
            waitForReading(reading.stale.union(page.following))
            reading.stale = []
            phase = .reading(reading)
            for mailbox in waiting.keys { waiting[mailbox]?.beginReading() }
            return actions + [.read(ReadRequest(epoch: epoch))]
        }
        phase = .open
        actions += sendHeld(after: reading, now, &silents)
        if let again = readForRoom() { actions.append(.read(again)) }
        return actions
    }

    private func isNews(_ stored: StoredMailboxEntry, _ ofHeld: [MailboxVersion: OfferID]) -> Bool {
        // What is held from a mailbox that keeps more is sent at its place in the mailbox.
        isNews(stored) && (stored.version.isKept || ofHeld[stored.version] == nil)
    }

    /// Whether a mailbox's content is newer than everything from that mailbox that this line has sent or will send
    /// soon.
    func isNews(_ stored: StoredMailboxEntry) -> Bool {
        if stored.version.isKept { return !isKnown(stored.version, of: stored.entry.destination) }
        if let known = versions[stored.entry.destination.mailbox], known >= stored.version { return false }
        return deferred.isEmpty || !isDeferred(stored)
    }

    /// Sends a mailbox's content, or records why it waits there.
    /// - Parameter offer: the offer of it that was held back and is no longer.
    mutating func sendOrWait(
        _ stored: StoredMailboxEntry,
        offer: OfferID? = nil,
        releases: Bool,
        before: Waiting?,
        _ now: Moment,
        _ silents: inout Silents,
    ) -> [Action] {
        let (destination, notification) = (stored.entry.destination, stored.entry.notification)
        // Skip a notification that disk damage has made unreadable. If it broke the stream, the device would connect
        // again and again.
        let returned = offer.map { [Action.returned($0, destination)] } ?? []
        guard notification.isSound else {
            return returned + [
                .record(.discarded(.damaged), NotificationSubject(notification, to: destination)),
                .remove(MailboxReference(destination: destination, version: stored.version)),
            ]
        }
        guard stored.entry.expires > time(now, of: destination.mailbox) else {
            return returned + [
                .record(.expired, NotificationSubject(notification, to: destination)),
                .remove(MailboxReference(destination: destination, version: stored.version)),
            ]
        }
        let recorded =
            stored.version.isKept
            ? kept?.recorded(KeptNotifications.Place(mailbox: destination.mailbox, version: stored.version))
            : before?.version == stored.version ? before?.recorded : nil
        guard hasRoom, !stored.version.isKept || !waitsForRoom(destination.mailbox) else {
            leave(.room, in: stored.version, of: destination.mailbox, recorded: recorded)
            return returned
        }
        let power = policy.wait(for: notification, isBurst: releases)
        if let power, canDefer, !stored.version.isKept || waiting[destination.mailbox]?.isDeferred != true {
            let waiting = Deferred(
                destination: destination, notification: notification, offer: offer, version: stored.version)
            append(waiting, power, now)
            return power.step == recorded ? [] : [.record(power.step, waiting.subject)]
        }
        guard let wait = power ?? SendingPolicy.throttle(notification, to: destination, now, &silents) else {
            var actions = notification.urgency == .immediate ? sendDeferred(now, &silents) : []
            actions.append(.send(send(destination, notification, offer: offer, version: stored.version, now)))
            return actions
        }
        begin(wait, in: stored.version, of: destination.mailbox, now)
        // Record the step only once in the log.
        return wait.step == recorded
            ? returned : returned + [.record(wait.step, NotificationSubject(notification, to: destination))]
    }

    /// Records that a mailbox's content waits.
    mutating func begin(
        _ wait: SendingPolicy.Wait, in version: MailboxVersion, of mailbox: DeviceMailbox, _ now: Moment
    ) {
        policy.began(wait, now: now)
        leave(.policy(wait), in: version, of: mailbox, recorded: wait.step)
    }

    /// Records that a mailbox's content waits, beside what waits in the same mailbox if it keeps more.
    mutating func leave(
        _ reason: Waiting.Reason, in version: MailboxVersion, of mailbox: DeviceMailbox, recorded: DeliveryStep?
    ) {
        guard version.isKept else {
            waiting[mailbox] = Waiting(reason: reason, version: version, recorded: recorded)
            return
        }
        leaveKept(reason, in: version, of: mailbox, recorded: recorded)
    }
}

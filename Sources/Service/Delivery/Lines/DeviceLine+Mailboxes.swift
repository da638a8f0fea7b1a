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
        let app = stored.entry.destination.app
        if let offer {
            if let number = underWay.firstNumber(where: { $0.offer == offer }) {
                underWay[number]?.version = stored.version
                versions[app] = max(stored.version, versions[app] ?? stored.version)
                return []
            }
            if held.contains(where: { $0.offer.id == offer }) {
                versionsOfHeld[offer] = stored.version
                return []
            }
            if storedDeferred(offer, stored.version) { return [] }
        }
        // Announcements of other nodes may arrive in any order, so ignore an older one.
        guard isNews(stored), waiting[app].map({ $0.version < stored.version }) ?? true else { return [] }
        switch phase {
        case .reading(var reading):
            reading.isStale = true
            phase = .reading(reading)
            waiting[app] = Waiting(reason: .reading, version: stored.version)
            return []
        case .open:
            let before = waiting.removeValue(forKey: app)
            guard before?.reason != .room else {
                waiting[app] = Waiting(reason: .room, version: stored.version)
                return []
            }
            let actions = sendOrWait(stored, releases: false, before: before, now, &silents)
            // The notification may have expired. Then it did not wake the device.
            guard stored.entry.notification.urgency == .immediate, actions.contains(where: \.isSending),
                let reading = release()
            else { return actions }
            return actions + [reading]
        }
    }

    /// Handles the contents of the mailboxes that were read.
    mutating func read(
        _ entries: [StoredMailboxEntry],
        epoch: UInt64,
        now: Moment,
        silents: inout Silents,
    ) -> [Action] {
        defer { assert(checkInvariants()) }
        guard epoch == self.epoch, case .reading(var reading) = phase else { return [] }
        let before = waiting
        waiting.removeAll()
        var actions: [Action] = []
        if reading.releases {
            policy.endBurst()
            actions = sendDeferred(now, &silents)
        }
        let ofHeld = Set(versionsOfHeld.values)
        for stored in entries where isNews(stored) && !ofHeld.contains(stored.version) {
            let app = stored.entry.destination.app
            reading.met[app] = stored.version
            actions += sendOrWait(stored, releases: reading.releases, before: before[app], now, &silents)
        }
        if reading.isStale {
            reading.isStale = false
            phase = .reading(reading)
            for app in waiting.keys { waiting[app]?.reason = .reading }
            return actions + [.readMailboxes(epoch: epoch)]
        }
        phase = .open
        actions += sendHeld(after: reading, now, &silents)
        if let again = readForRoom() { actions.append(again) }
        return actions
    }

    /// Whether a mailbox's content is newer than everything from that mailbox that this line has sent or will send
    /// soon.
    func isNews(_ stored: StoredMailboxEntry) -> Bool {
        if let known = versions[stored.entry.destination.app], known >= stored.version { return false }
        return deferred.isEmpty || !isDeferred(stored)
    }

    /// Sends a mailbox's content, or records why it waits there.
    mutating func sendOrWait(
        _ stored: StoredMailboxEntry,
        releases: Bool,
        before: Waiting?,
        _ now: Moment,
        _ silents: inout Silents,
    ) -> [Action] {
        let (destination, notification) = (stored.entry.destination, stored.entry.notification)
        // Skip a notification that disk damage has made unreadable. If it broke the stream, the device would connect
        // again and again.
        guard notification.isSound else {
            return [
                .record(.discarded(.damaged), NotificationSubject(notification, to: destination)),
                .remove(MailboxReference(destination: destination, version: stored.version)),
            ]
        }
        guard stored.entry.expires > time(now, of: destination.app) else {
            return [
                .record(.expired, NotificationSubject(notification, to: destination)),
                .remove(MailboxReference(destination: destination, version: stored.version)),
            ]
        }
        let recorded = before?.version == stored.version ? before?.recorded : nil
        guard hasRoom else {
            waiting[destination.app] = Waiting(reason: .room, version: stored.version, recorded: recorded)
            return []
        }
        let power = policy.wait(for: notification, isBurst: releases)
        if let power, canDefer {
            let waiting = Deferred(
                destination: destination, notification: notification, offer: nil, version: stored.version)
            let step = append(waiting, power, now)
            return power.step == recorded ? [] : [step]
        }
        guard let wait = power ?? SendingPolicy.throttle(notification, to: destination, now, &silents) else {
            var actions = notification.urgency == .immediate ? sendDeferred(now, &silents) : []
            actions.append(.send(send(destination, notification, offer: nil, version: stored.version, now)))
            return actions
        }
        begin(wait, in: stored.version, of: destination.app, now)
        // Record the step only once in the log.
        return wait.step == recorded ? [] : [.record(wait.step, NotificationSubject(notification, to: destination))]
    }

    /// Records that a mailbox's content waits.
    mutating func begin(_ wait: SendingPolicy.Wait, in version: MailboxVersion, of app: AppID, _ now: Moment) {
        policy.began(wait, now: now)
        waiting[app] = Waiting(reason: .policy(wait), version: version, recorded: wait.step)
    }
}

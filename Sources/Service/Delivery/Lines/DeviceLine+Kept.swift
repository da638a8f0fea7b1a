import Notifications

// How a device line handles mailboxes that keep more than one notification
// (docs/decisions/0095-mailboxes-that-keep-more.md).
extension DeviceLine {
    /// Handles a new notification in a mailbox that keeps more than one.
    mutating func storedKept(_ stored: StoredMailboxEntry, _ now: Moment, _ silents: inout Silents) -> [Action] {
        guard isNews(stored) else { return [] }
        let (mailbox, notification) = (stored.entry.destination.mailbox, stored.entry.notification)
        if case .reading(var reading) = phase {
            reading.isStale = true
            reading.stale.insert(mailbox)
            phase = .reading(reading)
            waitForReading([mailbox])
            return []
        }
        guard let before = waiting[mailbox] else {
            let actions = sendOrWait(stored, releases: false, before: nil, now, &silents)
            guard notification.urgency == .immediate, actions.contains(where: \.isSending), let reading = release()
            else { return actions }
            return actions + [.read(reading)]
        }
        // Older ones wait for room or for the device's power, and come before it.
        if before.reason == .room { return [] }
        if before.isDeferred {
            guard isImmediate(stored, now) else {
                if let power = policy.wait(for: notification, isBurst: false) { policy.began(power, now: now) }
                return []
            }
            return release().map { [.read($0)] } ?? []
        }
        // What waits for the app's rate of silent notifications delays other silent ones alone.
        guard !notification.isSilent else { return [] }
        return sendOrWait(stored, releases: false, before: nil, now, &silents)
    }

    /// Whether the line has sent it, or has it already and will send it.
    func isKnown(_ version: MailboxVersion, of destination: Destination) -> Bool {
        (kept?.wasAcknowledged(KeptNotifications.Place(mailbox: destination.mailbox, version: version)) ?? false)
            || underWay.firstNumber(where: { $0.version == version && $0.destination == destination }) != nil
            || deferred.contains { $0.version == version && $0.destination == destination }
    }

    /// Remembers the newest version that was sent from a mailbox.
    mutating func sent(_ version: MailboxVersion, of mailbox: DeviceMailbox) {
        guard version.isKept else {
            versions[mailbox] = version
            return
        }
        kept?.sent(KeptNotifications.Place(mailbox: mailbox, version: version))
    }

    mutating func remember(acknowledged version: MailboxVersion, of mailbox: DeviceMailbox) {
        kept = kept ?? KeptNotifications()
        kept?.remember(acknowledged: KeptNotifications.Place(mailbox: mailbox, version: version))
    }

    /// Up to how many notifications may be under way when the mailboxes are read because there is room. If one keeps more,
    /// half of a page, so that a device that was offline for long does not take as much memory as its mailboxes.
    var roomForReading: Int {
        let hasKept = waiting.values.contains { $0.reason == .room && $0.version.isKept }
        return hasKept ? roomForPage : limit / 2
    }

    private var roomForPage: Int { min(limit / 2, MailboxBound.pageCount / 2) }

    func waitsForRoom(_ mailbox: DeviceMailbox) -> Bool { waiting[mailbox]?.reason == .room }

    /// Whether a notification wakes the device as soon as there is room.
    private func isImmediate(_ stored: StoredMailboxEntry, _ now: Moment) -> Bool {
        let (entry, notification) = (stored.entry, stored.entry.notification)
        return notification.urgency == .immediate && notification.isSound
            && entry.expires > time(now, of: entry.destination.mailbox)
    }

    // MARK: Pages

    /// Whether a page has a notification that wakes the device. What comes before it is then sent before it.
    func mustRelease(for page: MailboxPage, _ reading: Reading, _ now: Moment) -> Bool {
        guard !reading.releases, hasRoom else { return false }
        for stored in page.entries where stored.version.isKept && isImmediate(stored, now) && isNews(stored) {
            return true
        }
        return false
    }

    /// Ends the waiting for a page, which is there now.
    mutating func endReadingOfPage() {
        for mailbox in waiting.keys where waiting[mailbox]?.reason == .reading { waiting[mailbox] = nil }
    }

    /// Whether the next page is read at once. If not, it is read when there is room again, from the first page on, because
    /// what was left waiting there may be sent by then.
    mutating func goesOn(after page: MailboxPage) -> Bool {
        guard page.last != nil else { return false }
        let goesOn = hasRoom && underWay.count <= roomForPage
        if goesOn {
            waitForReading(page.following)
        } else {
            for mailbox in page.following { leave(.room, in: Self.unknown, of: mailbox, recorded: nil) }
        }
        return goesOn
    }

    /// Holds offers for these mailboxes back until they were read.
    mutating func waitForReading(_ mailboxes: Set<DeviceMailbox>) {
        for mailbox in mailboxes { leave(.reading, in: Self.unknown, of: mailbox, recorded: nil) }
    }

    /// What follows in a mailbox that keeps more.
    private static let unknown = MailboxVersion(kept: 0)

    /// The offers that are held back and stored, by their versions.
    func offersByVersion() -> [MailboxVersion: OfferID] {
        guard !versionsOfHeld.isEmpty else { return [:] }
        return Dictionary(versionsOfHeld.map { ($0.value, $0.key) }, uniquingKeysWith: { $1 })
    }

    mutating func forgetHeld(_ offer: OfferID) {
        versionsOfHeld[offer] = nil
        held.removeAll { $0.offer.id == offer }
    }

    // MARK: Waiting

    /// Records that a notification waits, beside others in the same mailbox. That they wait for room counts most: then they
    /// are all read again.
    mutating func leaveKept(
        _ reason: Waiting.Reason,
        in version: MailboxVersion,
        of mailbox: DeviceMailbox,
        recorded: DeliveryStep?,
    ) {
        if let recorded {
            kept = kept ?? KeptNotifications()
            kept?.record(recorded, of: KeptNotifications.Place(mailbox: mailbox, version: version))
        }
        guard var all = waiting[mailbox] else {
            waiting[mailbox] = Waiting(reason: reason, version: version)
            return
        }
        all.version = max(all.version, version)
        switch reason {
        case .room, .reading:
            if case .policy(let wait) = all.reason { all.add(wait) }
            if all.reason != .room { all.reason = reason }
        case .policy(let wait): all.add(wait)
        }
        waiting[mailbox] = all
    }
}

extension DeviceLine.Waiting {
    /// Whatever it has waited for, a reading now finds it in its mailbox.
    mutating func beginReading() {
        reason = .reading
        others = Others()
    }

    /// Adds another notification that waits.
    fileprivate mutating func add(_ wait: SendingPolicy.Wait) {
        switch wait {
        case .burst, .company: others.isDeferred = true
        case .rate(let until): others.opens = others.opens.map { min($0, until) } ?? until
        }
    }
}

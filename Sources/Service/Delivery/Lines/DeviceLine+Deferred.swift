import DequeModule
import Notifications
import Rates

// Notifications that wait for a reason to wake the device. While a device is online, each request results in a
// notification delivered (Guide, 2.1.3). So a notification here never replaces another, and all are sent together in
// their order (Table 8-2: grouped and delivered in bursts). They are also stored: if the stream ends, the newest
// notification for each app is in its mailbox.
extension DeviceLine {
    struct Deferred {
        let destination: Destination
        let notification: Notification
        /// The offer; nil for a notification from a mailbox.
        let offer: OfferID?
        /// The version in the mailbox; nil until the notification was stored.
        var version: MailboxVersion?

        var subject: NotificationSubject { NotificationSubject(notification, to: destination) }
    }

    /// The waiting notifications, by app, without those of subscriptions.
    var heldForPower: [AppID: HeldNotifications] {
        var held: [AppID: HeldNotifications] = [:]
        for waiting in deferred where !waiting.destination.isSubscription {
            held[waiting.destination.app, default: HeldNotifications(count: 0)].count += 1
            if let version = waiting.version { held[waiting.destination.app]?.stored = version }
        }
        return held
    }

    var canDefer: Bool { deferred.count < deferredLimit && hasRoom }

    /// Handles an offer that is not a reason to wake the device.
    /// - Parameter isBehind: whether an older notification for the app waits in its mailbox. This one then replaces
    ///   it there.
    mutating func deferOrTry(_ offer: Offer, _ wait: SendingPolicy.Wait, isBehind: Bool, _ now: Moment) -> Offered {
        let (destination, notification) = (offer.destination, offer.notification)
        guard let id = offer.id else {
            // A notification that must not be stored has only one attempt, which is now.
            guard policy.tries(notification, isBurst: false) else { return .returned }
            return .taken(send(destination, notification, offer: nil, version: nil, now))
        }
        guard canDefer else { return Offered(answer: .returned, limitExceeded: .deferred) }
        guard !isBehind else { return .returned }
        let waiting = Deferred(destination: destination, notification: notification, offer: id, version: nil)
        append(waiting, wait, now)
        return Offered(answer: .held, then: .record(wait.step, waiting.subject))
    }

    mutating func append(_ waiting: Deferred, _ wait: SendingPolicy.Wait, _ now: Moment) {
        deferred.append(waiting)
        policy.began(wait, now: now)
        coalesce(deferred.endIndex - 1)
    }

    /// Records that a waiting notification was stored in its mailbox.
    /// - Returns: Whether the notification waits here.
    mutating func storedDeferred(_ offer: OfferID, _ version: MailboxVersion) -> Bool {
        guard let index = deferred.firstIndex(where: { $0.offer == offer }) else { return false }
        deferred[index].version = version
        let destination = deferred[index].destination
        coalesce(index)
        // A reading may have found it before this node heard of it.
        if version.isKept {
            deferred.removeAll { $0.version == version && $0.destination == destination && $0.offer != offer }
        }
        return true
    }

    /// Removes the waiting notifications that one with the same collapse identifier has replaced in the mailbox: of
    /// pending ones only the newest is kept (Guide, 2.1.3). The delivery log has their end already. One that is not stored
    /// yet replaces nothing, because its storing may fail.
    private mutating func coalesce(_ index: Int) {
        let newest = deferred[index]
        guard let version = newest.version, let collapseID = newest.notification.collapseID else { return }
        deferred.removeAll { other in
            guard other.destination == newest.destination, other.notification.collapseID == collapseID else {
                return false
            }
            if let stored = other.version { return stored < version }
            // If both are offers of one node, the newer one was stored in place of the older one.
            guard let offer = other.offer, let newer = newest.offer, offer.origin == newer.origin else { return false }
            return offer.number < newer.number
        }
    }

    /// Whether a mailbox's content waits here, or a newer content of that mailbox does.
    func isDeferred(_ stored: StoredMailboxEntry) -> Bool {
        deferred.contains { waiting in
            guard let version = waiting.version, waiting.destination == stored.entry.destination, !version.isKept else {
                return false
            }
            return version >= stored.version
        }
    }

    /// Removes the waiting notifications for an app that was removed from the device. The store has already emptied
    /// the app's mailbox and recorded the end of the newest one. Offers that are not stored yet are returned, and the
    /// store will refuse them.
    ///
    /// The app may have been registered again meanwhile, and one of these notifications stored for it. So the line
    /// reads the mailboxes again.
    /// - Parameter destination: the app with its subscriptions, or one of these.
    mutating func removed(_ destination: Destination) -> [Action] {
        defer { assert(checkInvariants()) }
        func isRemoved(_ other: Destination) -> Bool {
            other == destination || !destination.isSubscription && other.app == destination.app
        }
        let newest = deferred.filter { isRemoved($0.destination) }.compactMap(\.version).max()
        var actions: [Action] = []
        var isFound = false
        for waiting in deferred where isRemoved(waiting.destination) {
            isFound = true
            if waiting.version == nil, let offer = waiting.offer {
                actions.append(.returned(offer, waiting.destination))
            } else if waiting.version != newest, waiting.version?.isKept != true {
                actions.append(.record(.discarded(.unregistered), waiting.subject))
            }
        }
        guard isFound else { return [] }
        deferred.removeAll { isRemoved($0.destination) }
        return actions + mayHaveMissed()
    }

    /// A message was removed from the queue of a subscription, so it is not sent any more.
    mutating func withdrawn(_ reference: MailboxReference) -> [Action] {
        defer { assert(checkInvariants()) }
        // A reading may have found it before.
        remember(acknowledged: reference.version, of: reference.destination.mailbox)
        deferred.removeAll { $0.version == reference.version && $0.destination == reference.destination }
        guard let offer = versionsOfHeld.first(where: { $0.value == reference.version })?.key,
            held.contains(where: { $0.offer.id == offer && $0.offer.destination == reference.destination })
        else { return [] }
        forgetHeld(offer)
        return [.returned(offer, reference.destination)]
    }

    /// Sends all waiting notifications in their order, and releases broadcasts. There is room for the notifications,
    /// because ``hasRoom`` counts them.
    ///
    /// A notification is not sent if it has expired, or exceeds the app's rate of silent notifications. If such a
    /// notification has no version yet, it is being stored in its mailbox. The line gets it from there afterwards.
    mutating func sendDeferred(_ now: Moment, _ silents: inout Silents) -> [Action] {
        var actions: [Action] = []
        var passed: Set<DeviceMailbox> = []
        while let next = deferred.popFirst() {
            let (mailbox, version) = (next.destination.mailbox, next.version)
            if next.notification.expiration.hasPassed(at: time(now, of: mailbox)) {
                guard let version else { continue }
                actions.append(.record(.expired, next.subject))
                actions.append(.remove(MailboxReference(destination: next.destination, version: version)))
                continue
            }
            // An older notification for the app stays in its mailbox. This one must not overtake it, unless it has
            // replaced it there, which is known only if it has a version.
            if version == nil, passed.contains(mailbox) { continue }
            if let wait = SendingPolicy.throttle(next.notification, to: next.destination, now, &silents) {
                passed.insert(mailbox)
                guard let version, version.isKept || waiting[mailbox].map({ $0.version < version }) ?? true else {
                    continue
                }
                begin(wait, in: version, of: mailbox, now)
                actions.append(.record(wait.step, next.subject))
                continue
            }
            if passed.contains(mailbox), let version, !version.isKept, let before = waiting[mailbox],
                before.version < version
            {
                waiting[mailbox] = nil
            }
            actions.append(
                .send(send(next.destination, next.notification, offer: next.offer, version: version, now)))
        }
        if !waiting.values.contains(where: \.isDeferred) { policy.endBurst() }
        if holdsBroadcasts { actions.append(.releaseBroadcasts) }
        holdsBroadcasts = false
        return actions
    }

    /// The clock of the team that owns these apps has advanced. What waits for a time waits for less of it now. A burst is the
    /// device's, so it comes earlier for everything that waits for it.
    mutating func advanced(_ apps: Set<AppID>, by duration: Duration) {
        var hasDeferred = deferred.contains { apps.contains($0.destination.app) }
        for (mailbox, wait) in waiting where apps.contains(mailbox.app) {
            if wait.isDeferred { hasDeferred = true }
            if case .policy(.rate(let opens)) = wait.reason {
                waiting[mailbox]?.reason = .policy(.rate(until: opens.earlier(by: duration)))
            }
            waiting[mailbox]?.others.opens = wait.others.opens?.earlier(by: duration)
        }
        if hasDeferred { policy.advanceBurst(by: duration) }
    }
}

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

    /// The waiting notifications, by app.
    var heldForPower: [AppID: HeldNotifications] {
        var held: [AppID: HeldNotifications] = [:]
        for waiting in deferred {
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
        return Offered(answer: .held, then: append(waiting, wait, now))
    }

    /// - Returns: The step for the delivery log.
    mutating func append(_ waiting: Deferred, _ wait: SendingPolicy.Wait, _ now: Moment) -> Action {
        deferred.append(waiting)
        policy.began(wait, now: now)
        coalesce(deferred.endIndex - 1)
        return .record(wait.step, waiting.subject)
    }

    /// Records that a waiting notification was stored in its mailbox.
    /// - Returns: Whether the notification waits here.
    mutating func storedDeferred(_ offer: OfferID, _ version: MailboxVersion) -> Bool {
        guard let index = deferred.firstIndex(where: { $0.offer == offer }) else { return false }
        deferred[index].version = version
        coalesce(index)
        // A reading may have found it before this node heard of it.
        if version.isKept { deferred.removeAll { $0.version == version && $0.offer != offer } }
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
    mutating func removed(_ app: AppID) -> [Action] {
        defer { assert(checkInvariants()) }
        let newest = deferred.lazy.filter { $0.destination.app == app }.compactMap(\.version).max()
        var actions: [Action] = []
        var isFound = false
        for waiting in deferred where waiting.destination.app == app {
            isFound = true
            if waiting.version == nil, let offer = waiting.offer {
                actions.append(.returned(offer, waiting.destination))
            } else if waiting.version != newest, waiting.version?.isKept != true {
                actions.append(.record(.discarded(.unregistered), waiting.subject))
            }
        }
        guard isFound else { return [] }
        deferred.removeAll { $0.destination.app == app }
        return actions + mayHaveMissed()
    }

    /// Sends all waiting notifications in their order, and releases broadcasts. There is room for the notifications,
    /// because ``hasRoom`` counts them.
    ///
    /// A notification is not sent if it has expired, or exceeds the app's rate of silent notifications. If such a
    /// notification has no version yet, it is being stored in its mailbox. The line gets it from there afterwards.
    mutating func sendDeferred(_ now: Moment, _ silents: inout Silents) -> [Action] {
        var actions: [Action] = []
        var passed: Set<AppID> = []
        while let next = deferred.popFirst() {
            let (app, version) = (next.destination.app, next.version)
            if next.notification.expiration.hasPassed(at: time(now, of: app)) {
                guard let version else { continue }
                actions.append(.record(.expired, next.subject))
                actions.append(.remove(MailboxReference(destination: next.destination, version: version)))
                continue
            }
            // An older notification for the app stays in its mailbox. This one must not overtake it, unless it has
            // replaced it there, which is known only if it has a version.
            if version == nil, passed.contains(app) { continue }
            if let wait = SendingPolicy.throttle(next.notification, to: next.destination, now, &silents) {
                passed.insert(app)
                guard let version, version.isKept || waiting[app].map({ $0.version < version }) ?? true else {
                    continue
                }
                begin(wait, in: version, of: app, now)
                actions.append(.record(wait.step, next.subject))
                continue
            }
            if passed.contains(app), let version, !version.isKept, let before = waiting[app], before.version < version {
                waiting[app] = nil
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
        for (app, wait) in waiting where apps.contains(app) {
            if wait.isDeferred { hasDeferred = true }
            if case .policy(.rate(let opens)) = wait.reason {
                waiting[app]?.reason = .policy(.rate(until: opens.earlier(by: duration)))
            }
            waiting[app]?.others.opens = wait.others.opens?.earlier(by: duration)
        }
        if hasDeferred { policy.advanceBurst(by: duration) }
    }
}

import DequeModule
import Notifications
import Rates

// Notifications that wait for a reason to wake the device. While a device is online, each request results in a
// notification delivered (Guide, 2.1.3), so no notification here replaces another, and all are sent together in
// their order (Table 8-2: grouped and delivered in bursts). They are stored as well: if the stream ends, the newest
// of each app is in its mailbox.
extension DeviceLine {
    struct Deferred {
        let destination: Destination
        let notification: Notification
        /// The offer; nil for a notification from a mailbox.
        let offer: OfferID?
        /// Its version in the mailbox, after it was stored.
        var version: MailboxVersion?

        var subject: NotificationSubject { NotificationSubject(notification, to: destination) }
    }

    /// What waits here, by app.
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
    /// - Parameter isBehind: whether an older notification for the app waits in its mailbox, where this one replaces
    ///   it.
    mutating func deferOrTry(_ offer: Offer, _ wait: SendingPolicy.Wait, isBehind: Bool, _ now: Moment) -> Offered {
        let (destination, notification) = (offer.destination, offer.notification)
        guard let id = offer.id else {
            // A notification that must not be stored has its single attempt now.
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
        return .note(wait.step, waiting.subject)
    }

    /// Records that a waiting notification was stored in its mailbox.
    /// - Returns: Whether it waits here.
    mutating func storedDeferred(_ offer: OfferID, _ version: MailboxVersion) -> Bool {
        guard let index = deferred.firstIndex(where: { $0.offer == offer }) else { return false }
        deferred[index].version = version
        return true
    }

    /// Returns whether a mailbox's content, or something newer of that mailbox, waits here.
    func isDeferred(_ stored: StoredMailboxEntry) -> Bool {
        deferred.contains { waiting in
            guard let version = waiting.version, waiting.destination == stored.entry.destination else { return false }
            return version >= stored.version
        }
    }

    /// Gives up the notifications that wait here for an app that was removed. The store has emptied the app's mailbox,
    /// and recorded the end of the newest one. Offers that are not stored yet are returned, and the store then refuses
    /// them.
    ///
    /// The app may have been registered again in the meantime, and one of these notifications stored for it. So the
    /// mailboxes are read again.
    mutating func removed(_ app: AppID) -> [Action] {
        let newest = deferred.lazy.filter { $0.destination.app == app }.compactMap(\.version).max()
        var actions: [Action] = []
        var isFound = false
        for waiting in deferred where waiting.destination.app == app {
            isFound = true
            if waiting.version == nil, let offer = waiting.offer {
                actions.append(.returned(offer, waiting.destination))
            } else if waiting.version != newest {
                actions.append(.note(.discarded(.unregistered), waiting.subject))
            }
        }
        guard isFound else { return [] }
        deferred.removeAll { $0.destination.app == app }
        return actions + mayHaveMissed()
    }

    /// Sends all waiting notifications in their order. There is room, because ``hasRoom`` counts them.
    ///
    /// A notification that has expired is not sent, nor is one that exceeds the app's rate of silent notifications. If
    /// it has no version, it is being stored in its mailbox, and the line gets it again afterwards.
    mutating func sendDeferred(_ now: Moment, _ silents: inout Silents) -> [Action] {
        var actions: [Action] = []
        var passed: Set<AppID> = []
        while let next = deferred.popFirst() {
            let (app, version) = (next.destination.app, next.version)
            if next.notification.expiration.hasPassed(at: now.time) {
                guard let version else { continue }
                actions.append(.note(.expired, next.subject))
                actions.append(.remove(MailboxReference(destination: next.destination, version: version)))
                continue
            }
            // An older notification for the app stays in its mailbox, and this one may not overtake it. It may do so
            // only if it is known to have replaced it there.
            if version == nil, passed.contains(app) { continue }
            if let wait = SendingPolicy.throttle(next.notification, to: next.destination, now, &silents) {
                passed.insert(app)
                guard let version, waiting[app].map({ $0.version < version }) ?? true else { continue }
                begin(wait, in: version, of: app, now)
                actions.append(.note(wait.step, next.subject))
                continue
            }
            if passed.contains(app), let version, let before = waiting[app], before.version < version {
                waiting[app] = nil
            }
            actions.append(
                .send(send(next.destination, next.notification, offer: next.offer, version: version, now)))
        }
        if !waiting.values.contains(where: \.isDeferred) { policy.endBurst() }
        return actions
    }
}

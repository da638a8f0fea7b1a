package import Notifications

/// Records in the delivery log the notifications that a store removes from mailboxes by itself, for example because
/// they expire.
package struct MailboxJournal: Sendable {
    private let log: any DeliveryLog
    private let clock: @Sendable () -> Timestamp

    package init(log: any DeliveryLog, clock: @escaping @Sendable () -> Timestamp) {
        self.log = log
        self.clock = clock
    }

    package var now: Timestamp { clock() }

    /// Records these events. Do not call it while holding a lock that
    /// ``KnownRegistrations/knownRegistration(of:)`` takes, because the log calls that method.
    package func record(_ ended: [EndedNotification]) {
        guard !ended.isEmpty else { return }
        let time = clock()
        for notification in ended {
            log.record(DeliveryEvent(time: time, step: notification.step, subject: notification.subject))
        }
    }
}

/// A notification that is no longer stored.
package struct EndedNotification: Sendable {
    package let subject: NotificationSubject
    package let step: DeliveryStep

    package init(id: NotificationID, destination: Destination, topic: String, step: DeliveryStep) {
        subject = NotificationSubject(id: id, address: .destination(destination, generation: 0), topic: topic)
        self.step = step
    }

    package init(_ stored: StoredMailboxEntry, _ step: DeliveryStep) {
        subject = NotificationSubject(stored.entry.notification, to: stored.entry.destination)
        self.step = step
    }
}

import Delivery
import Notifications

/// Tells the delivery log what left the mailboxes otherwise than by a removal that was asked for.
struct MailboxJournal: Sendable {
    let log: any DeliveryLog
    let clock: @Sendable () -> Timestamp

    func record(_ ended: [EndedNotification]) {
        guard !ended.isEmpty else { return }
        let time = clock()
        for notification in ended {
            log.record(DeliveryEvent(time: time, step: notification.step, subject: notification.subject))
        }
    }
}

/// A notification that is stored no more.
struct EndedNotification: Sendable {
    let id: NotificationID
    let destination: Destination
    let topic: String
    let step: DeliveryStep

    var subject: NotificationSubject {
        NotificationSubject(id: id, address: .destination(destination, generation: 0), topic: topic)
    }
}

package import Notifications

/// A step in the life of a notification.
package struct DeliveryEvent: Sendable, Hashable {
    package var time: Timestamp
    package var step: DeliveryStep
    package var subject: NotificationSubject

    package init(time: Timestamp, step: DeliveryStep, subject: NotificationSubject) {
        self.time = time
        self.step = step
        self.subject = subject
    }
}

/// The steps of a notification from the request to its end.
package enum DeliveryStep: Sendable, Hashable {
    /// The request passed all checks, and the notification is under way. The answer 200 follows when it is safe.
    case accepted
    /// The request was rejected with this reason.
    case rejected(Rejection.Reason)
    /// The notification is on disk in its mailbox. The value is the time since its acceptance, in microseconds.
    case stored(after: UInt32)
    /// A newer notification to the same app on the same device has replaced it (Guide, 2.1.3).
    case replaced(by: NotificationID)
    /// A newer notification with the same collapse identifier has replaced it.
    case coalesced(into: NotificationID)
    /// Its mailbox keeps more than one notification, and was full or got a lower bound: the oldest goes.
    case dropped
    /// It waits in its mailbox until it can be sent without waking the device (Guide, Table 8-2).
    case deferred
    /// It waits in its mailbox or is dropped, because the app had too many silent notifications (Guide, 2.2.2).
    case throttled
    /// It was handed to the device's connection.
    case sent
    /// The device has acknowledged the notification. The value is the time since it was sent, in microseconds.
    case acknowledged(after: UInt32)
    /// The notification expired before a device acknowledged it.
    case expired
    /// The notification was given up for this reason.
    case discarded(DiscardReason)
    /// A notification with the same identifier was sent on this stream shortly before. The device shows only the
    /// first.
    case duplicate
    /// The gateway has handed the notification to the app's upstream (docs/gateway.md).
    case forwarded
    /// The upstream has answered with this status, and with this reason unless it accepted the notification.
    /// - Parameter own: what this service would have answered, a reason or `accepted`, if that was compared and differs.
    case answered(status: UInt16, reason: String?, own: String? = nil)
    /// The upstream cannot be reached, so the notification is kept here until it can, or until it expires.
    case held
}

extension DeliveryStep {
    /// A step without its values. The delivery log's files contain these numbers, so a number must never get another
    /// meaning.
    package enum Kind: UInt8, Sendable, Hashable, CaseIterable {
        case accepted = 1
        case rejected = 2
        case stored = 3
        case replaced = 4
        case coalesced = 5
        case deferred = 6
        case throttled = 7
        case sent = 8
        case acknowledged = 9
        case expired = 10
        case discarded = 11
        // 12 marks lost events in the log's files.
        case duplicate = 13
        case forwarded = 14
        case answered = 15
        case held = 16
        case dropped = 17

        /// The name in `carillon log` and in the metrics.
        package var name: String {
            switch self {
            case .accepted: "accepted"
            case .rejected: "rejected"
            case .stored: "stored"
            case .replaced: "replaced"
            case .coalesced: "coalesced"
            case .deferred: "deferred"
            case .throttled: "throttled"
            case .sent: "sent"
            case .acknowledged: "acknowledged"
            case .expired: "expired"
            case .discarded: "discarded"
            case .duplicate: "duplicate"
            case .forwarded: "forwarded"
            case .answered: "answered"
            case .held: "held"
            case .dropped: "dropped"
            }
        }
    }

    package var kind: Kind {
        switch self {
        case .accepted: .accepted
        case .rejected: .rejected
        case .stored: .stored
        case .replaced: .replaced
        case .coalesced: .coalesced
        case .deferred: .deferred
        case .throttled: .throttled
        case .sent: .sent
        case .acknowledged: .acknowledged
        case .expired: .expired
        case .discarded: .discarded
        case .duplicate: .duplicate
        case .forwarded: .forwarded
        case .answered: .answered
        case .held: .held
        case .dropped: .dropped
        }
    }
}

/// Why a notification was given up.
package enum DiscardReason: String, Sendable, Hashable, CaseIterable {
    /// It had only one attempt, because it must not be stored (expiration 0, or in the past), and the attempt did not
    /// reach the device.
    case oneAttempt
    /// The app was removed from the device or deleted from the accounts, or the device's tokens were renewed.
    case unregistered
    /// The stored notification is damaged and cannot be sent.
    case damaged
    /// The sender of a message of Web Push has withdrawn it before it was delivered.
    case withdrawn
    /// It was held for an upstream, and meanwhile the grant that sent it was revoked or has ended, or its handle was
    /// deleted or has ended, or its app became another team's.
    case revoked
}

/// The notification of an event, with its address.
package struct NotificationSubject: Sendable, Hashable {
    package var id: NotificationID
    package var address: Address
    /// The topic that the provider used; empty if it is not known.
    package var topic: String

    package enum Address: Sendable, Hashable {
        /// - Parameter generation: the generation of the device token that was used, with its service
        ///   (``TokenNumber``); 0 for the app's current one.
        case destination(Destination, generation: UInt32)
        /// The bytes of a device token that belongs to no destination.
        case deviceToken([UInt8])
        case unknown
    }

    package init(id: NotificationID, address: Address, topic: String) {
        self.id = id
        self.address = address
        self.topic = topic
    }

    package init(_ notification: Notification, to destination: Destination, generation: UInt32 = 0) {
        id = notification.id
        address = .destination(destination, generation: generation)
        topic = notification.topic
    }
}

extension Notification {
    /// Returns the step to record when a newer notification replaces this one.
    package func step(onReplacementBy newer: Notification) -> DeliveryStep {
        collapseID != nil && collapseID == newer.collapseID
            ? .coalesced(into: newer.id) : .replaced(by: newer.id)
    }
}

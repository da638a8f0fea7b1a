package import Notifications

/// One step in the life of a notification.
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

/// What happens to notifications, from the request to the end.
package enum DeliveryStep: Sendable, Hashable {
    /// The request passed every check, and the notification is under way. Its 200 follows once it is safe.
    case accepted
    /// The request was answered with this reason.
    case rejected(Rejection.Reason)
    /// It is on disk, in its mailbox. Microseconds since it was accepted.
    case stored(after: UInt32)
    /// A newer notification to the same app on the same device took its place (Guide, 2.1.3).
    case replaced(by: NotificationID)
    /// Likewise, by one with the same collapse identifier.
    case coalesced(into: NotificationID)
    /// It waits in its mailbox until the device can take it without being woken for it (Guide, Table 8-2).
    case deferred
    /// It waits in its mailbox, or is dropped, because the app had too many silent notifications (Guide, 2.2.2).
    case throttled
    /// It was handed to the device's connection.
    case sent
    /// The device has taken it. Microseconds since it was sent.
    case acknowledged(after: UInt32)
    /// Its time was over before a device took it.
    case expired
    /// It was given up.
    case discarded(DiscardReason)
    /// It was sent, and another one with its identifier before it on the same stream: the device shows that one only.
    case duplicate
}

extension DeliveryStep {
    /// A step without what it carries. The numbers stand in the delivery log's files: none is ever used for another.
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
        // 12 is the files' mark of losses.
        case duplicate = 13

        /// As `carillon log` and the metrics have it.
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
        }
    }
}

/// Why a notification was given up.
package enum DiscardReason: String, Sendable, Hashable, CaseIterable {
    /// It was to be tried once and never stored (expiration 0, or past), and the one attempt did not reach the device.
    case oneAttempt
    /// The app was removed from the device or deleted from the accounts, or the device's tokens were renewed.
    case unregistered
}

/// Which notification an event is about, and to whom it was addressed.
package struct NotificationSubject: Sendable, Hashable {
    package var id: NotificationID
    package var address: Address
    /// As the provider wrote it; empty where that is not known.
    package var topic: String

    package enum Address: Sendable, Hashable {
        /// - Parameter generation: that of the device token that was used; 0 for the present one.
        case destination(Destination, generation: UInt32)
        /// The bytes of a device token that leads nowhere.
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
    /// What becomes of this one when a newer one takes its place.
    package func step(onReplacementBy newer: Notification) -> DeliveryStep {
        collapseID != nil && collapseID == newer.collapseID
            ? .coalesced(into: newer.id) : .replaced(by: newer.id)
    }
}

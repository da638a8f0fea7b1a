import Delivery
import Notifications

/// Values to test with. Notifications are told apart by a number, which is also their ticket.
enum Example {
    static let moment = Timestamp(milliseconds: 1_700_000_000_000)
    static let device = DeviceKey(environment: .production, device: DeviceID(rawValue: 1))
    static let answers = NoAnswers()

    static func destination(app: UInt32 = 1, on device: DeviceKey = device) -> Destination {
        Destination(environment: device.environment, device: device.device, app: AppID(rawValue: app))
    }

    static func notification(_ number: UInt64, _ expiration: Expiration = .unspecified) -> Notification {
        Notification(
            id: NotificationID(high: 0, low: number),
            topic: "com.example.app",
            expiration: expiration,
            payload: Payload(stored: Array("{}".utf8), contents: []),
        )
    }

    static func submission(
        _ number: UInt64,
        to destination: Destination = destination(),
        _ expiration: Expiration = .unspecified,
        generation: UInt32 = 1,
    ) -> Submission {
        Submission(
            destination: destination,
            generation: generation,
            notification: notification(number, expiration),
            ticket: number,
        )
    }

    static func offer(_ number: UInt64, app: UInt32 = 1, _ expiration: Expiration = .unspecified) -> Offer {
        Offer(
            id: OfferID(rawValue: number),
            destination: destination(app: app),
            notification: notification(number, expiration),
        )
    }

    static func stored(
        _ number: UInt64,
        app: UInt32 = 1,
        version: UInt64,
        expires: Timestamp = moment.advanced(by: .seconds(3600)),
    ) -> StoredMailboxEntry {
        StoredMailboxEntry(
            entry: MailboxEntry(
                destination: destination(app: app), notification: notification(number), expires: expires),
            version: MailboxVersion(rawValue: version),
        )
    }
}

extension Notification {
    /// What tests tell it by.
    var number: UInt64 { id.low }
}

/// Nobody who waits.
final class NoAnswers: SubmissionAnswers {
    func answer(_ ticket: UInt64, with outcome: Outcome) {}
}

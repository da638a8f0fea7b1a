import Delivery
import Notifications

/// Values for tests. Each notification has a number, which is also its ticket.
enum Example {
    static let moment = Timestamp(milliseconds: 1_700_000_000_000)
    static let now = now(moment)
    static let device = DeviceKey(environment: .production, device: DeviceID(rawValue: 1))
    static let answers = NoAnswers()
    /// The origin of offers in tests with one node.
    static let origin = OfferOrigin(rawValue: 1)

    /// A moment at which both clocks have this time.
    static func now(_ time: Timestamp) -> Moment {
        Moment(time: time, uptime: Uptime(nanoseconds: time.nanoseconds))
    }

    static func destination(app: UInt32 = 1, on device: DeviceKey = device) -> Destination {
        Destination(environment: device.environment, device: device.device, app: AppID(rawValue: app))
    }

    /// A stand-in for a sealed token.
    static func token(_ destination: Destination, generation: UInt32 = 1) -> DeviceToken {
        var bytes = SIMD32<UInt8>(repeating: UInt8(truncatingIfNeeded: destination.device.rawValue))
        bytes[0] = UInt8(truncatingIfNeeded: destination.app.rawValue)
        bytes[1] = UInt8(truncatingIfNeeded: generation)
        return DeviceToken(bytes: bytes)
    }

    static func notification(
        _ number: UInt64,
        _ expiration: Expiration = .unspecified,
        priority: Priority = .immediate,
        isSilent: Bool = false,
        collapseID: String? = nil,
    ) -> Notification {
        Notification(
            id: NotificationID(high: 0, low: number),
            topic: "com.example.app",
            priority: priority,
            expiration: expiration,
            collapseID: collapseID.flatMap(CollapseIdentifier.init(rawValue:)),
            payload: Payload(stored: Array("{}".utf8), contents: isSilent ? [.aps, .contentAvailable] : []),
        )
    }

    static func submission(
        _ number: UInt64,
        to destination: Destination = destination(),
        _ expiration: Expiration = .unspecified,
        priority: Priority = .immediate,
        isSilent: Bool = false,
        collapseID: String? = nil,
        generation: UInt32 = 1,
    ) -> Submission {
        Submission(
            destination: destination,
            deviceToken: token(destination, generation: generation),
            generation: generation,
            notification: notification(
                number, expiration, priority: priority, isSilent: isSilent, collapseID: collapseID),
            ticket: number,
        )
    }

    static func offer(
        _ number: UInt64,
        app: UInt32 = 1,
        _ expiration: Expiration = .unspecified,
        priority: Priority = .immediate,
        isSilent: Bool = false,
        collapseID: String? = nil,
    ) -> Offer {
        Offer(
            id: OfferID(number),
            destination: destination(app: app),
            notification: notification(
                number, expiration, priority: priority, isSilent: isSilent, collapseID: collapseID),
        )
    }

    static func stored(
        _ number: UInt64,
        app: UInt32 = 1,
        version: UInt64,
        expires: Timestamp = moment.advanced(by: .seconds(3600)),
        priority: Priority = .immediate,
        isSilent: Bool = false,
        collapseID: String? = nil,
    ) -> StoredMailboxEntry {
        StoredMailboxEntry(
            entry: MailboxEntry(
                destination: destination(app: app),
                notification: notification(
                    number, priority: priority, isSilent: isSilent, collapseID: collapseID),
                expires: expires,
            ),
            version: MailboxVersion(rawValue: version),
        )
    }
}

extension Notification {
    /// The number that tests use for it.
    var number: UInt64 { id.low }
}

/// Ignores all answers.
final class NoAnswers: SubmissionAnswers {
    func answer(_ ticket: UInt64, with outcome: Outcome) {}
}

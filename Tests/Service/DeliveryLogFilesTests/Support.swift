import Delivery
import DeliveryLogFiles
import Foundation
import Notifications
import Synchronization

enum Example {
    static let moment = Timestamp(milliseconds: 1_700_000_000_000)
    static let destination = Destination(
        environment: .production, device: DeviceID(rawValue: .max - 1), app: AppID(rawValue: 7))

    static func subject(_ number: UInt64, generation: UInt32 = 3) -> NotificationSubject {
        NotificationSubject(
            id: NotificationID(high: .max, low: number),
            address: .destination(destination, generation: generation),
            topic: "com.example.app",
        )
    }

    static func event(_ number: UInt64, _ step: DeliveryStep = .sent, generation: UInt32 = 3) -> DeliveryEvent {
        DeliveryEvent(time: moment, step: step, subject: subject(number, generation: generation))
    }

    /// One step of each kind.
    static let steps: [DeliveryStep] = [
        .accepted, .rejected(.badDeviceToken), .stored(after: .max), .replaced(by: NotificationID(high: 1, low: 2)),
        .coalesced(into: NotificationID(high: 3, low: 4)), .deferred, .throttled, .duplicate, .sent,
        .forwarded, .held, .answered(status: 410, reason: "Unregistered"),
        .answered(status: 200, reason: nil, own: "BadPriority"),
        .acknowledged(after: 0),
        .expired, .discarded(.oneAttempt), .discarded(.unregistered),
    ]
}

/// A clock that stands still until it is set.
final class SettableClock: Sendable {
    private let moment = Mutex(Example.moment)
    var now: Timestamp { moment.withLock { $0 } }
    func advance(by duration: Duration) { moment.withLock { $0 = $0.advanced(by: duration) } }
}

/// All records in the log's files.
func records(_ folder: String) throws -> [LogRecord] {
    var reader = DeliveryLogReader(folder: folder)
    var records: [LogRecord] = []
    try reader.read { records.append($0) }
    return records
}

/// The numbers of the notifications that have events in the files.
func numbers(_ folder: String) throws -> [UInt64] {
    try records(folder).compactMap { record in
        if case .event(let event, _) = record { event.subject.id.low } else { nil }
    }
}

func segments(_ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
}

package import Delivery
package import Notifications

/// What stands in the log's files: docs/delivery-log.md has the format.
package enum LogRecord: Sendable, Hashable {
    /// - Parameter tokenKey: which key sealed the device token of the event's destination; 0 where that is not known.
    case event(DeliveryEvent, tokenKey: UInt32)
    /// So many events were not written, because more came than the disk takes or because it took none.
    case lost(UInt64, at: Timestamp)
}

// MARK: - Writing

extension LogRecord {
    /// In bytes: no record is longer. Five texts of 255 bytes would fit.
    static let maximumBytes = 2048

    /// The first byte of a record of losses; that of an event is its kind's.
    static let lostCode: UInt8 = 12

    func write(to buffer: inout RecordBuffer) {
        switch self {
        case .event(let event, let tokenKey): Self.write(event, tokenKey: tokenKey, to: &buffer)
        case .lost(let count, let time):
            buffer.begin(at: time)
            buffer.append(integer: Self.lostCode)
            buffer.append(integer: AddressCode.unknown.rawValue)
            buffer.append(time)
            buffer.append(NotificationID(high: 0, low: 0))
            buffer.append(text: "")
            _ = buffer.repeats("")
            buffer.append(short: count)
        }
    }

    /// - Parameter generation: in the place of the event's own, where it has none.
    static func write(
        _ event: borrowing DeliveryEvent,
        generation: UInt32? = nil,
        tokenKey: UInt32,
        to buffer: inout RecordBuffer,
    ) {
        buffer.begin(at: event.time)
        let repeats = buffer.repeats(event.subject.topic)
        buffer.append(integer: event.step.kind.rawValue)
        buffer.append(
            integer: AddressCode(event.subject.address).rawValue | (repeats ? AddressCode.repeatsTopic : 0)
                | (event.subject.id.hasCapitals ? AddressCode.hasCapitals : 0))
        buffer.append(event.time)
        buffer.append(event.subject.id)
        if event.subject.id.hasCapitals { buffer.append(integer: event.subject.id.capitals) }
        switch event.subject.address {
        case .destination(let destination, let own):
            buffer.append(integer: destination.device.rawValue)
            buffer.append(short: UInt64(destination.app.rawValue))
            buffer.append(short: UInt64(generation ?? own))
            buffer.append(short: UInt64(tokenKey))
        case .deviceToken(let token):
            buffer.append(counted: token)
        case .unknown:
            break
        }
        if !repeats { buffer.append(text: event.subject.topic) }
        switch event.step {
        case .accepted, .deferred, .throttled, .sent, .expired, .duplicate: break
        case .rejected(let reason): buffer.append(text: reason.rawValue)
        case .stored(let microseconds), .acknowledged(let microseconds): buffer.append(short: UInt64(microseconds))
        case .replaced(let id), .coalesced(let id): buffer.append(id)
        case .discarded(let reason): buffer.append(text: reason.rawValue)
        }
    }
}

/// The second byte of a record.
enum AddressCode: UInt8 {
    case unknown = 0
    case development = 1
    case production = 2
    case deviceToken = 3

    /// Added where the topic is that of the record before, and not written again.
    static let repeatsTopic: UInt8 = 0x10
    /// Added where the request's identifier had capital letters: which ones follows it.
    static let hasCapitals: UInt8 = 0x20

    init(_ address: NotificationSubject.Address) {
        self =
            switch address {
            case .unknown: .unknown
            case .deviceToken: .deviceToken
            case .destination(let destination, _):
                switch destination.environment {
                case .development: .development
                case .production: .production
                }
            }
    }
}

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

    func write(to bytes: inout [UInt8]) {
        switch self {
        case .event(let event, let tokenKey):
            write(event, tokenKey, to: &bytes)
        case .lost(let count, let time):
            bytes.append(Code.lost.rawValue)
            bytes.append(AddressCode.unknown.rawValue)
            bytes.append(integer: time.milliseconds)
            bytes.append(NotificationID(high: 0, low: 0))
            bytes.append(text: "")
            bytes.append(integer: count)
        }
    }

    private func write(_ event: DeliveryEvent, _ tokenKey: UInt32, to bytes: inout [UInt8]) {
        let subject = event.subject
        bytes.append(Code(event.step).rawValue)
        bytes.append(AddressCode(subject.address).rawValue)
        bytes.append(integer: event.time.milliseconds)
        bytes.append(subject.id)
        switch subject.address {
        case .destination(let destination, let generation):
            bytes.append(integer: destination.device.rawValue)
            bytes.append(integer: destination.app.rawValue)
            bytes.append(integer: generation)
            bytes.append(integer: tokenKey)
        case .deviceToken(let token):
            bytes.append(counted: token)
        case .unknown:
            break
        }
        bytes.append(text: subject.topic)
        switch event.step {
        case .accepted, .deferred, .throttled, .sent, .expired: break
        case .rejected(let reason): bytes.append(text: reason.rawValue)
        case .stored(let microseconds), .acknowledged(let microseconds): bytes.append(integer: microseconds)
        case .replaced(let id), .coalesced(let id): bytes.append(id)
        case .discarded(let reason): bytes.append(text: reason.rawValue)
        }
    }
}

/// The first byte of a record. A number is never used for something else.
enum Code: UInt8 {
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
    case lost = 12

    init(_ step: DeliveryStep) {
        self =
            switch step {
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
            }
    }
}

/// The second byte of a record.
enum AddressCode: UInt8 {
    case unknown = 0
    case development = 1
    case production = 2
    case deviceToken = 3

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

extension [UInt8] {
    /// Least significant byte first.
    mutating func append(integer: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: integer.littleEndian) { append(contentsOf: $0) }
    }

    fileprivate mutating func append(_ id: NotificationID) {
        append(integer: id.high)
        append(integer: id.low)
    }

    /// As many as a byte can count.
    fileprivate mutating func append(counted bytes: some Collection<UInt8>) {
        let kept = bytes.prefix(255)
        append(UInt8(kept.count))
        append(contentsOf: kept)
    }

    fileprivate mutating func append(text: String) {
        append(counted: text.utf8)
    }
}

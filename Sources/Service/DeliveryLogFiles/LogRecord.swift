package import Delivery
package import Notifications

/// A record of the log's files. docs/delivery-log.md describes the format.
package enum LogRecord: Sendable, Hashable {
    /// - Parameter tokenKey: the number of the key that sealed the destination's device token; 0 if that is not
    ///   known.
    case event(DeliveryEvent, tokenKey: UInt32)
    /// This many events are missing here, because they came too fast or the disk failed.
    case lost(UInt64, at: Timestamp)
}

// MARK: - Writing

extension LogRecord {
    /// The largest size of a record, in bytes: five texts of 255 bytes fit.
    static let maximumBytes = 2048

    /// The first byte of a record of lost events. In a record of an event, the first byte is the number of the
    /// event's kind.
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

    /// - Parameter generation: the generation to write instead of the event's own; nil for the event's own.
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
            buffer.append(short: UInt64(destination.app.rawValue))  // fits: 32 bits
            buffer.append(short: UInt64(generation ?? own))  // fits: 32 bits
            buffer.append(short: UInt64(tokenKey))  // fits: 32 bits
        case .deviceToken(let token):
            buffer.append(counted: token)
        case .unknown:
            break
        }
        if !repeats { buffer.append(text: event.subject.topic) }
        switch event.step {
        case .accepted, .deferred, .throttled, .sent, .expired, .duplicate, .forwarded, .held, .dropped: break
        case .rejected(let reason): buffer.append(text: reason.rawValue)
        // fits: 32 bits
        case .stored(let microseconds), .acknowledged(let microseconds): buffer.append(short: UInt64(microseconds))
        case .replaced(let id), .coalesced(let id): buffer.append(id)
        case .discarded(let reason): buffer.append(text: reason.rawValue)
        case .answered(let status, let reason, let own):
            buffer.append(short: UInt64(status))  // fits: 16 bits
            buffer.append(text: reason ?? "")
            buffer.append(text: own ?? "")
        }
    }
}

/// The second byte of a record: the kind of address, and some bits.
enum AddressCode: UInt8 {
    case unknown = 0
    case development = 1
    case production = 2
    case deviceToken = 3

    /// Set if the topic is that of the record before. The topic is then not written again.
    static let repeatsTopic: UInt8 = 0x10
    /// Set if the identifier had capital letters in the request. After the identifier comes a bit mask that says
    /// which ones.
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

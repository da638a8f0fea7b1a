import Delivery
import Notifications

extension LogRecord {
    /// Reads the records of a block.
    /// - Returns: nil if the bytes are not records of this format.
    static func read(_ bytes: ArraySlice<UInt8>) -> [LogRecord]? {
        var reader = ByteReader(bytes)
        var records: [LogRecord] = []
        guard let base = reader.integer(UInt64.self) else { return nil }
        var topic = ""
        while !reader.isAtEnd {
            guard let record = LogRecord(&reader, base: base, topic: &topic) else { return nil }
            records.append(record)
        }
        return records
    }

    private init?(_ reader: inout ByteReader, base: UInt64, topic lastTopic: inout String) {
        guard let code = reader.byte(), let flags = reader.byte(),
            let addressCode = AddressCode(rawValue: flags & ~(AddressCode.repeatsTopic | AddressCode.hasCapitals)),
            let time = reader.short(), var id = reader.id()
        else { return nil }
        if flags & AddressCode.hasCapitals != 0 {
            guard let capitals = reader.integer(UInt32.self) else { return nil }
            id = NotificationID(high: id.high, low: id.low, capitals: capitals)
        }
        var tokenKey: UInt32 = 0
        let address: NotificationSubject.Address
        switch addressCode {
        case .unknown:
            address = .unknown
        case .deviceToken:
            guard let token = reader.counted() else { return nil }
            address = .deviceToken(Array(token))
        case .development, .production:
            guard let device = reader.integer(UInt64.self), let app = reader.short().flatMap(UInt32.init(exactly:)),
                let generation = reader.short().flatMap(UInt32.init(exactly:)),
                let key = reader.short().flatMap(UInt32.init(exactly:))
            else { return nil }
            tokenKey = key
            let destination = Destination(
                environment: addressCode == .production ? .production : .development,
                device: DeviceID(rawValue: device), app: AppID(rawValue: app))
            address = .destination(destination, generation: generation)
        }
        if flags & AddressCode.repeatsTopic == 0 {
            guard let topic = reader.text() else { return nil }
            lastTopic = topic
        }
        let (distance, isBack) = (time >> 1, time & 1 == 1)
        let moment = Timestamp(milliseconds: isBack ? base - min(base, distance) : base &+ distance)
        guard code != Self.lostCode else {
            guard let count = reader.short() else { return nil }
            self = .lost(count, at: moment)
            return
        }
        guard let step = DeliveryStep.Kind(rawValue: code).flatMap({ DeliveryStep($0, &reader) }) else { return nil }
        let subject = NotificationSubject(id: id, address: address, topic: lastTopic)
        self = .event(DeliveryEvent(time: moment, step: step, subject: subject), tokenKey: tokenKey)
    }
}

extension DeliveryStep {
    fileprivate init?(_ kind: Kind, _ reader: inout ByteReader) {
        switch kind {
        case .accepted: self = .accepted
        case .rejected:
            guard let reason = reader.text().flatMap(Rejection.Reason.init(rawValue:)) else { return nil }
            self = .rejected(reason)
        case .stored:
            guard let microseconds = reader.short().flatMap(UInt32.init(exactly:)) else { return nil }
            self = .stored(after: microseconds)
        case .replaced:
            guard let id = reader.id() else { return nil }
            self = .replaced(by: id)
        case .coalesced:
            guard let id = reader.id() else { return nil }
            self = .coalesced(into: id)
        case .deferred: self = .deferred
        case .throttled: self = .throttled
        case .duplicate: self = .duplicate
        case .forwarded: self = .forwarded
        case .held: self = .held
        case .dropped: self = .dropped
        case .answered:
            guard let status = reader.short().flatMap(UInt16.init(exactly:)), let reason = reader.text(),
                let own = reader.text()
            else { return nil }
            self = .answered(
                status: status, reason: reason.isEmpty ? nil : reason, own: own.isEmpty ? nil : own)
        case .sent: self = .sent
        case .acknowledged:
            guard let microseconds = reader.short().flatMap(UInt32.init(exactly:)) else { return nil }
            self = .acknowledged(after: microseconds)
        case .expired: self = .expired
        case .discarded:
            guard let reason = reader.text().flatMap(DiscardReason.init(rawValue:)) else { return nil }
            self = .discarded(reason)
        }
    }
}

/// Reads values from bytes. It never reads beyond their end.
struct ByteReader {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    var isAtEnd: Bool { bytes.isEmpty }

    mutating func byte() -> UInt8? { bytes.popFirst() }

    mutating func read(_ count: Int) -> ArraySlice<UInt8>? {
        guard count <= bytes.count else { return nil }
        defer { bytes = bytes.dropFirst(count) }
        return bytes.prefix(count)
    }

    /// An integer of fixed size, the least significant byte first.
    mutating func integer<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
        guard let read = read(Value.bitWidth / 8) else { return nil }
        return read.reversed().reduce(0) { $0 << 8 | Value(truncatingIfNeeded: $1) }
    }

    /// An integer in LEB128: seven bits in each byte, the lowest first.
    mutating func short() -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            guard let byte = byte() else { return nil }
            value |= UInt64(byte & 0x7f) << shift  // fits: seven bits
            if byte & 0x80 == 0 { return value }
        }
        return nil
    }

    mutating func id() -> NotificationID? {
        guard let high = integer(UInt64.self), let low = integer(UInt64.self) else { return nil }
        return NotificationID(high: high, low: low)
    }

    mutating func counted() -> ArraySlice<UInt8>? { byte().flatMap { read(Int($0)) } }  // fits: a byte

    mutating func text() -> String? { counted().map { String(decoding: $0, as: UTF8.self) } }
}

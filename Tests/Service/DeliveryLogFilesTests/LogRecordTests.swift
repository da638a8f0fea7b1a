import CommonTesting
import Delivery
import Notifications
import Testing

@testable import DeliveryLogFiles

@Suite("Records of the delivery log")
struct LogRecordTests {
    /// The records' bytes.
    private static func written(_ records: LogRecord...) -> [UInt8] {
        Array(block(records).dropFirst(LogBlock.headerBytes))
    }

    private static func block(_ records: [LogRecord]) -> [UInt8] {
        var buffer = RecordBuffer()
        for record in records { record.write(to: &buffer) }
        return buffer.withBlock { Array($0) }
    }

    @Test(arguments: Example.steps)
    func `Each kind of event reads back as it was`(_ step: DeliveryStep) {
        let record = LogRecord.event(Example.event(1, step), tokenKey: 9)
        #expect(LogRecord.read(Self.written(record, record)[...]) == [record, record])
    }

    @Test(arguments: Rejection.Reason.allCases)
    func `Every reason of a rejection reads back`(_ reason: Rejection.Reason) {
        let record = LogRecord.event(Example.event(1, .rejected(reason)), tokenKey: 0)
        #expect(LogRecord.read(Self.written(record)[...]) == [record])
    }

    @Test
    func `Each kind of address reads back`() {
        let development = Destination(environment: .development, device: DeviceID(rawValue: 0), app: AppID(rawValue: 0))
        let addresses: [NotificationSubject.Address] = [
            .unknown, .deviceToken(Array(0..<32)), .destination(development, generation: .max),
        ]
        for address in addresses {
            let subject = NotificationSubject(id: NotificationID(high: 0, low: .max), address: address, topic: "")
            let event = DeliveryEvent(time: Timestamp(milliseconds: .max), step: .sent, subject: subject)
            let record = LogRecord.event(event, tokenKey: 0)
            #expect(LogRecord.read(Self.written(record)[...]) == [record])
        }
    }

    @Test
    func `An identifier reads back with its capital letters`() throws {
        var event = Example.event(1)
        let text = "8B1e5b4A-9C0c-4d5E-8f00-0123456789aB"
        event.subject = NotificationSubject(
            id: try #require(NotificationID(text)), address: event.subject.address, topic: event.subject.topic)
        let written = Self.written(.event(event, tokenKey: 1), .event(Example.event(2), tokenKey: 1))
        let records = try #require(LogRecord.read(written[...]))
        #expect(records.count == 2)
        let entry = LogEntry(try #require(records.first)) { _, _ in nil }
        #expect(entry.json.contains("\"id\":\"\(text)\""))
    }

    @Test
    func `Losses read back`() {
        let record = LogRecord.lost(.max, at: Example.moment)
        #expect(LogRecord.read(Self.written(record)[...]) == [record])
    }

    @Test
    func `A longer topic is cut to 255 bytes, and the rest of the record can still be read`() {
        var event = Example.event(1)
        event.subject.topic = String(repeating: "x", count: 300)
        let next = LogRecord.event(Example.event(2), tokenKey: 0)
        let read = LogRecord.read(Self.written(.event(event, tokenKey: 0), next)[...])
        event.subject.topic = String(repeating: "x", count: 255)
        #expect(read == [.event(event, tokenKey: 0), next])
    }

    @Test
    func `A record that is cut off anywhere is refused, and nothing is read beyond the end`() {
        let bytes = Self.written(.event(Example.event(1, .rejected(.badTopic)), tokenKey: 1))
        for count in 0..<bytes.count { #expect((LogRecord.read(bytes.prefix(count)) ?? []).isEmpty) }
    }

    @Test
    func `Random bytes do no harm`() {
        var random = SeededGenerator()
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0..<200, using: &random)).map { _ in
                UInt8.random(in: 0...20, using: &random)
            }
            _ = LogRecord.read(bytes[...])
            _ = LogBlock.read(bytes[...])
        }
    }

    @Test
    func `A block is whole, partial or damaged`() {
        let records = Self.written(.event(Example.event(1), tokenKey: 0))
        let block = Self.block([.event(Example.event(1), tokenKey: 0)])
        #expect(LogBlock.read((block + [1, 2, 3])[...]) == .whole(records[...], count: block.count))
        for count in 0..<block.count {
            guard case .partial(let needed) = LogBlock.read(block.prefix(count)) else {
                Issue.record("\(count) bytes are not partial")
                continue
            }
            #expect(needed == (count < LogBlock.headerBytes ? LogBlock.headerBytes : block.count))
        }
        for index in block.indices {
            var damaged = block
            damaged[index] ^= 0x40
            if case .whole = LogBlock.read(damaged[...]) { Issue.record("damage at \(index) is not seen") }
        }
    }
}

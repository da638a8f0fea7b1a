import Delivery
import Notifications
import Testing

@testable import MemoryStore

@Suite("A shard of devices in memory")
struct DeviceShardTests {
    @Test
    func `A mailbox that is replaced again and again takes no more memory, and still expires`() throws {
        var shard = DeviceShard()
        _ = shard.register(Example.destination, tokenKeyID: 1, at: Example.moment)
        for id in 1...10_000 as ClosedRange<UInt64> { _ = try shard.store(Example.entry(id: id), at: Example.moment) }
        #expect(shard.expiryCount <= 2 + ExpiryQueue<MailboxReference>.toleratedStale)
        let expired = shard.removeExpired(before: Example.moment.advanced(by: .seconds(1)), limit: 10)
        #expect(expired.map(\.subject.id) == [NotificationID(high: 0, low: 10_000)])
        #expect(shard.entries(of: Example.destination.deviceKey).isEmpty)
    }
}

enum Example {
    static let moment = Timestamp(milliseconds: 1_700_000_000_000)
    static let destination = Destination(
        environment: .production, device: DeviceID(rawValue: 1), app: AppID(rawValue: 1))

    static func entry(id: UInt64) -> MailboxEntry {
        MailboxEntry(
            destination: destination,
            notification: Notification(
                id: NotificationID(high: 0, low: id), topic: "com.example.app",
                payload: Payload(stored: [], contents: [])),
            expires: moment)
    }
}

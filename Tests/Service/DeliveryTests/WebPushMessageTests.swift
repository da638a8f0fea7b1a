import Notifications
import Testing

@testable import Delivery

/// Messages of Web Push as notifications.
@Suite("Messages of Web Push")
struct WebPushMessageTests {
    private let now = Timestamp(milliseconds: 1_700_000_000_001)

    @Test
    func `A destination takes no more memory than without its queue`() {
        #expect(MemoryLayout<Destination>.size == 20)
        #expect(MemoryLayout<Destination>.stride == 24)
        let (one, other) = (Example.destination(), Example.destination(app: 2))
        let queue = Destination(environment: one.environment, device: one.device, app: one.app, queue: 1)
        #expect(queue != one)
        #expect(queue.ofApp == one)
        #expect(queue.deviceKey == one.deviceKey)
        #expect(Set([one, other, queue]).count == 3)
        #expect(one.mailbox != other.mailbox)
    }

    @Test
    func `TTL becomes an expiration, at most 30 days ahead, and 0 one attempt`() {
        #expect(WebPushMessage.expiration(after: 0, at: now) == .immediately)
        // At least as long as was asked for.
        #expect(WebPushMessage.expiration(after: 1, at: now) == .at(1_700_000_002))
        #expect(WebPushMessage.expiration(after: .max, at: now) == .at(1_700_000_001 + 30 * 86_400))
    }

    @Test(arguments: zip(WebPushMessage.Urgency.allCases, [Priority.low, .considerate, .considerate, .immediate]))
    func `Urgency becomes a priority`(urgency: WebPushMessage.Urgency, priority: Priority) {
        #expect(urgency.priority == priority)
    }

    @Test(arguments: [0, 1, 2, 3, 4095, 4096], ["n", #"\"","webPush":{"body":"x"#, "ü\u{0}"])
    func `The bytes of the body are counted, whatever the name is`(count: Int, name: String) throws {
        let subscription = WebPushSubscription(
            destination: Example.destination(), name: name, seed: [], digest: [])
        let message = WebPushMessage(
            body: [UInt8](repeating: 0xff, count: count), encoding: .aesgcm, dh: #"""#, salt: "s", topic: "t")
        let bundleID = try #require(BundleID(rawValue: "com.example.app"))
        let notification = message.notification(
            NotificationID(high: 1, low: 2), for: bundleID, to: subscription, expiration: .at(1))
        #expect(notification.countedBytes == count)
        #expect(notification.isSound)
        #expect(!notification.isSilent)
        #expect(notification.collapseID?.rawValue == "t")
        #expect(StoredPushType(notification).text == "webpush")
        #expect(PushType(stored: "webpush") == .webPush)
        #expect(PushType(rawValue: "webpush") == nil)
        #expect(!PushType.allCases.contains(.webPush))
    }
}

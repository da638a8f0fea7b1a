import Delivery
import NIOCore
import Notifications
import Service
import Testing

import struct Foundation.Data
import class Foundation.JSONSerialization
import class Foundation.NSNull

@testable import Courier

/// The line that a device reads for a notification.
@Suite("A notification's line")
struct NotificationLineTests {
    private let id = NotificationID(high: .max, low: .max)

    @Test
    func `A line with the longest values fits, and reads back`() throws {
        let bundleID = try #require(BundleID(rawValue: String(repeating: "b", count: BundleID.maximumBytes)))
        let topic = String(repeating: "t", count: BundleID.maximumTopicBytes)
        // A control character takes more room in JSON than any other.
        let text = String(repeating: "\u{1}", count: CollapseIdentifier.maximumBytes)
        let longestType = try #require(PushType.allCases.max { $0.rawValue.count < $1.rawValue.count })
        let filler = String(repeating: "x", count: Payload.maximumVoIPBytes - #"{"aps":""}"#.utf8.count)
        let payload = try Payload(Array(#"{"aps":"\#(filler)"}"#.utf8))
        let object = try read(
            Notification(
                id: id, topic: topic, pushType: longestType, priority: .immediate, expiration: .at(.max),
                collapseID: CollapseIdentifier(rawValue: text), payload: payload),
            number: UInt64.max, bundleID: bundleID)

        #expect(object["sending"] as? UInt64 == UInt64.max)
        #expect(object["id"] as? String == id.description)
        #expect(object["topic"] as? String == topic)
        #expect(object["bundleID"] as? String == bundleID.rawValue)
        #expect(object["priority"] as? Int == 10)
        #expect(object["expiration"] as? UInt64 == UInt64.max)
        #expect(object["collapseID"] as? String == text)
        #expect(object["pushType"] as? String == longestType.rawValue)
        #expect((object["payload"] as? [String: String])?["aps"] == filler)
    }

    @Test
    func `Values that the provider did not give are left out`() throws {
        let bundleID = try #require(BundleID(rawValue: "a"))
        let object = try read(
            Notification(id: id, topic: "a", payload: Payload(Array("{}".utf8))), number: 0, bundleID: bundleID)
        #expect(Set(object.keys) == ["sending", "id", "topic", "bundleID", "priority", "payload"])
        #expect(object["sending"] as? UInt64 == 0)
    }

    @Test
    func `A message of Web Push has its subscription, and the parts of the message`() throws {
        let bundleID = try #require(BundleID(rawValue: "com.example.app"))
        let name = "ü\"\\" + String(repeating: "\u{1}", count: 90)
        let destination = Destination(
            environment: .development, device: DeviceID(rawValue: 1), app: AppID(rawValue: 1), queue: 7)
        let subscription = WebPushSubscription(destination: destination, name: name, seed: [], digest: [])
        let message = WebPushMessage(
            body: [0xfb, 0xff], encoding: .aesgcm, dh: "BB", salt: "ss", urgency: .veryLow, topic: "t")
        let object = try read(
            message.notification(id, for: bundleID, to: subscription, expiration: .at(5)), number: 3, bundleID: bundleID
        )
        #expect(
            Set(object.keys) == [
                "sending", "id", "topic", "bundleID", "pushType", "priority", "expiration", "subscription", "webPush",
            ])
        #expect(object["subscription"] as? String == name)
        #expect(object["pushType"] as? String == "webpush")
        #expect(object["priority"] as? Int == 1)
        let parts = try #require(object["webPush"] as? [String: String])
        #expect(
            parts == [
                "body": "-_8", "encoding": "aesgcm", "dh": "BB", "salt": "ss", "urgency": "very-low", "topic": "t",
            ])
    }

    @Test
    func `A message without encryption has null in place of what it has not`() throws {
        let bundleID = try #require(BundleID(rawValue: "a"))
        let destination = Destination(
            environment: .development, device: DeviceID(rawValue: 1), app: AppID(rawValue: 1), queue: 7)
        let subscription = WebPushSubscription(destination: destination, name: "n", seed: [], digest: [])
        let notification = WebPushMessage(body: [], urgency: .high).notification(
            id, for: bundleID, to: subscription, expiration: .immediately)
        let object = try read(notification, number: 3, bundleID: bundleID)
        let parts = try #require(object["webPush"] as? [String: Any])
        #expect(Set(parts.keys) == ["body", "encoding", "dh", "salt", "urgency", "topic"])
        #expect(parts["encoding"] is NSNull)
        #expect(parts["body"] as? String == "")
        #expect(object["priority"] as? Int == 10)
        #expect(object["expiration"] as? Int == 0)
        #expect(notification.countedBytes == 0)
    }

    private func read(
        _ notification: Notification,
        number: UInt64,
        bundleID: BundleID,
    ) throws -> [String: Any] {
        let destination = Destination(
            environment: .development, device: DeviceID(rawValue: 1), app: AppID(rawValue: 1))
        let attempt = DeliveryAttempt(number: number, destination: destination, notification: notification)
        let line = NotificationLine.of(attempt, bundleID: bundleID, clock: ServiceClock { .now() })
        #expect(line.readableBytesView.last == UInt8(ascii: "\n"))
        #expect(line.readableBytesView.count { $0 == UInt8(ascii: "\n") } == 1)
        return try #require(
            JSONSerialization.jsonObject(with: Data(line.readableBytesView)) as? [String: Any])
    }
}

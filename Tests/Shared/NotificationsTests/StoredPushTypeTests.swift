import Notifications
import Testing

/// The text in which stores keep a push type and the Live Activity that a notification is for.
struct StoredPushTypeTests {
    private static let uuid = "0b1e5b4a-9c0c-4d5e-8f00-0123456789ab"

    private static func notification(_ type: PushType?, _ activity: ActivityTarget?) throws -> Notification {
        Notification(
            id: NotificationID(high: 0, low: 0), topic: "a", pushType: type, activity: activity,
            payload: try Payload(Array("{}".utf8)))
    }

    private static let targets: [ActivityTarget?] = [ActivityID(uuid).map { .one($0) }, .start, nil]

    @Test(arguments: PushType.allCases.map { Optional($0) } + [nil], targets)
    func `It reads back as it was`(type: PushType?, activity: ActivityTarget?) throws {
        let stored = StoredPushType(try Self.notification(type, activity))
        guard let text = stored.text else {
            #expect(type == nil && activity == nil)
            return
        }
        #expect(StoredPushType(text) == stored)
        #expect(PushType(stored: text) != nil || text.hasPrefix("."), "An earlier release can read it.")
    }

    @Test func `A push type of a later release is kept`() {
        #expect(StoredPushType("later.type")?.pushType?.rawValue == "later.type")
        #expect(StoredPushType("later.\(Self.uuid)")?.pushType?.rawValue == "later")
        #expect(StoredPushType("later.\(Self.uuid)")?.activity == ActivityID(Self.uuid).map { .one($0) })
        #expect(StoredPushType("") == nil)
        #expect(StoredPushType("no name") == nil)
    }
}

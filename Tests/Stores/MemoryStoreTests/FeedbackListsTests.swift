import Delivery
import Notifications
import Testing

@testable import MemoryStore

/// A property that the contract leaves open: how many entries the store keeps.
@Suite("Feedback lists in memory")
struct FeedbackListsTests {
    private static func list(_ app: UInt32) -> FeedbackList {
        FeedbackList(environment: .production, app: AppID(rawValue: app))
    }

    private static func destination(_ device: UInt8, app: UInt32) -> Destination {
        Destination(environment: .production, device: DeviceID(rawValue: UInt64(device)), app: AppID(rawValue: app))
    }

    private static func entry(_ device: UInt8, app: UInt32 = 1) -> FeedbackEntry {
        FeedbackEntry(
            destination: destination(device, app: app), generation: 1,
            token: DeviceToken(bytes: SIMD32(repeating: device)), moment: Example.moment)
    }

    private static func devices(_ app: UInt32 = 1, in lists: FeedbackLists) -> [UInt8] {
        lists.take(list(app), after: nil, limit: 100).map { $0.token.bytes[0] }
    }

    @Test
    func `Beyond the limit the oldest entries are removed`() {
        var lists = FeedbackLists(limit: 3)
        for device in 1...5 as ClosedRange<UInt8> { lists.insert(Self.entry(device)) }
        #expect(Self.devices(in: lists) == [3, 4, 5])
        #expect(lists.count == 3)
    }

    @Test
    func `The limit counts for all lists together: a long one removes older entries of others`() {
        var lists = FeedbackLists(limit: 3)
        for device in 1...2 as ClosedRange<UInt8> { lists.insert(Self.entry(device, app: 2)) }
        for device in 3...4 as ClosedRange<UInt8> { lists.insert(Self.entry(device)) }
        #expect(Self.devices(2, in: lists) == [2])
        #expect(Self.devices(in: lists) == [3, 4])
    }

    @Test
    func `Removed entries take no place in the queue`() {
        var lists = FeedbackLists(limit: 100)
        for device in 1...9 as ClosedRange<UInt8> { lists.insert(Self.entry(device, app: UInt32(device % 3))) }
        for device in 2...9 as ClosedRange<UInt8> {
            lists.remove(Self.destination(device, app: UInt32(device % 3)), generation: 1)
        }
        #expect(Self.devices(in: lists) == [1])
        lists.confirm(Self.list(1), through: FeedbackMark(rawValue: 1))
        #expect(lists.placeCount == 0)
        lists.insert(Self.entry(1))
        #expect(Self.devices(in: lists) == [1])
    }
}

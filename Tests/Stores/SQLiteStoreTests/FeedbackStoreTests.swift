import CommonTesting
import Delivery
import Notifications
import Testing

@testable import SQLiteStore
import SQLiteSupport

/// Properties that the contract leaves open: how many entries the store keeps, and that they survive.
@Suite("Feedback on disk")
struct FeedbackStoreTests {
    private static let list = FeedbackList(environment: .production, app: AppID(rawValue: 1))

    /// Lists a device token for each of these devices. Its first byte is the device's number.
    private static func list(_ devices: ClosedRange<UInt8>, in store: SQLiteStore) async throws {
        for device in devices {
            let destination = Destination(
                environment: .production, device: DeviceID(rawValue: UInt64(device)), app: list.app)
            let moment = Timestamp(milliseconds: 1000)
            _ = try await store.register(destination, tokenKeyID: 1, at: moment)
            _ = try await store.end(destination, at: moment.advanced(by: .seconds(1)))
            try await store.record([
                FeedbackEntry(
                    destination: destination, generation: 1, token: DeviceToken(bytes: SIMD32(repeating: device)),
                    moment: moment.advanced(by: .seconds(1)))
            ])
        }
    }

    private static func devices(in store: SQLiteStore) async throws -> [UInt8] {
        try await store.entries(of: list, after: nil, limit: 100).map { $0.token.bytes[0] }
    }

    @Test
    func `Beyond the limit the oldest entries are removed`() async throws {
        try await withTemporaryPath { folder in
            let store = try await SQLiteStore.open(folder: folder, maximumPendingItems: 100, maximumFeedbackEntries: 3)
            try await Self.list(1...5, in: store)
            #expect(try await Self.devices(in: store) == [3, 4, 5])
            await store.close()
        }
    }

    @Test
    func `The list survives the process, and its entry numbers are never used again`() async throws {
        try await withTemporaryPath { folder in
            var store = try await SQLiteStore.open(folder: folder)
            try await Self.list(1...2, in: store)
            let last = try #require(try await store.entries(of: Self.list, after: nil, limit: 100).last).mark
            try await store.confirm(Self.list, through: last)
            await store.close()
            store = try await SQLiteStore.open(folder: folder)
            try await Self.list(3...3, in: store)
            #expect(try await Self.devices(in: store) == [3])
            #expect(try await store.entries(of: Self.list, after: last, limit: 100).count == 1)
            await store.close()
        }
    }
}

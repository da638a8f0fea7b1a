import Delivery
import GRDB
import Notifications
import Testing

@testable import SQLiteStore
import SQLiteSupport

/// After a return to an older release, the store contains data that the newer release has written.
@Suite("Data that a later release has stored")
struct LaterReleaseTests {
    /// Stores this push type in the mailbox's row, and returns the notifications that are read back.
    private static func read(_ pushType: String) async throws -> [Notification] {
        var read: [Notification] = []
        try await withStore { store, _ in
            let entry = Example.entry()
            _ = try #require(await store.store([entry]).first).get()
            try await store.connections.write { database in
                try database.execute(sql: "UPDATE mailbox SET push_type = ?", arguments: [pushType])
            }
            let device = Example.destination().deviceKey
            read = try await store.entries(of: device).map(\.entry.notification)
        }
        return read
    }

    @Test(arguments: ["hologram", "Smell-O-Vision.2_0"])
    func `An unknown push type is kept and delivered`(_ pushType: String) async throws {
        #expect(try await Self.read(pushType).map(\.pushType?.rawValue) == [pushType])
    }

    @Test
    func `A push type is stored unchanged`() async throws {
        try await withStore { store, _ in
            var entry = Example.entry()
            entry.notification.fields.pushType = PushType(stored: "hologram")
            _ = try #require(await store.store([entry]).first).get()
            let stored = try await store.entries(of: Example.destination().deviceKey)
            #expect(stored.map(\.entry) == [entry])
        }
    }

    /// The line of its device drops a notification that is not sound.
    @Test(arguments: ["", "a b", #"a"b"#, "a\nb", "é", String(repeating: "a", count: 65)])
    func `A text that no release writes counts as damage`(_ text: String) async throws {
        #expect(try await Self.read(text).map(\.payload.isSound) == [false])
    }
}

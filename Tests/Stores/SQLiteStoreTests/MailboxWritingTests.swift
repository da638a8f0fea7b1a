import Delivery
import GRDB
import Notifications
import Testing

@testable import SQLiteStore
import SQLiteSupport

/// A batch is written in the table's order, with the same result as in its own order.
@Suite("Writing mailboxes")
struct MailboxWritingTests {
    /// Notifications that differ in every column.
    private static func entries() throws -> [MailboxEntry] {
        let destination = Example.destination()
        let collapseID: CollapseIdentifier = try #require(CollapseIdentifier(rawValue: "a\0b"))
        let bare = Example.entry(destination, id: 1)
        var full = Example.entry(destination, id: 2, bytes: 4000)
        full.notification = Notification(
            id: NotificationID(high: 1 << 63, low: .max),
            topic: "com.example.app\0with more",
            pushType: .alert,
            priority: .low,
            expiration: Expiration(seconds: .max),
            collapseID: collapseID,
            payload: Payload(stored: [UInt8](repeating: 0x31, count: 4000), contents: [.aps, .alert, .sound]),
        )
        full.expires = Example.moment.advanced(by: .seconds(60))
        return [bare, full]
    }

    @Test
    func `New contents of a mailbox keep nothing of the earlier ones`() async throws {
        let entries = try Self.entries()
        try await withStore { store, _ in
            for entry in [entries[0], entries[1], entries[0], entries[1]] {
                let version = try #require(await store.store([entry]).first).get()
                let held = try await store.entries(of: entry.destination.deviceKey)
                #expect(held == [StoredMailboxEntry(entry: entry, version: version)])
            }
        }
    }

    @Test
    func `Results and versions have the order of the batch, whatever the order of the table`() async throws {
        let destinations = [3, UInt64.max, 1, 3, 2, 1].map { Example.destination($0) }
        let entries = zip(destinations, 1...).map { Example.entry($0, id: $1) }
        try await withStore(registered: Array(Set(destinations))) { store, _ in
            let versions = try await store.store(entries).map { try $0.get() }
            #expect(versions == versions.sorted())
            #expect(Set(versions).count == entries.count)
            for (device, newest) in [(3, 3), (.max, 1), (1, 5), (2, 4)] as [(UInt64, Int)] {
                let held = try await store.entries(of: Example.destination(device).deviceKey)
                #expect(held == [StoredMailboxEntry(entry: entries[newest], version: versions[newest])])
            }
        }
    }

    @Test
    func `An entry that the database refuses does not change its mailbox, and later entries are stored`() async throws {
        try await withStore { store, _ in
            let destinations = (1...3 as ClosedRange<UInt64>).map { Example.destination($0) }
            _ = await store.store(destinations.map { Example.entry($0, id: 1) })
            try await store.connections.writeWithoutTransaction { database in
                try database.execute(
                    sql: """
                        CREATE TEMP TRIGGER refuse BEFORE UPDATE ON mailbox WHEN new.device = 2
                        BEGIN SELECT RAISE(ABORT, 'refused'); END
                        """
                )
            }
            let results = await store.store(destinations.map { Example.entry($0, id: 2) })
            #expect(results.map { (try? $0.get()) != nil } == [true, false, true])
            var held: [UInt64] = []
            for destination in destinations {
                held += try await store.entries(of: destination.deviceKey).map(\.entry.notification.id.low)
            }
            #expect(held == [2, 1, 2])
        }
    }
}

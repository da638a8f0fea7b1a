import CommonTesting
import Delivery
import Foundation
import GRDB
import Notifications
import SQLiteSupport
import Testing

@testable import SQLiteStore

@Suite("Values in columns")
struct ColumnsTests {
    private static let samples = ["", "\0", "a\0b", "\0\0a", "ä\u{1f600}", String(repeating: "long ", count: 40)]

    @Test(arguments: samples)
    func `Texts read back as they were stored, whatever they contain`(_ text: String) async throws {
        try await withStore { store, _ in
            var entry = Example.entry()
            entry.notification.fields.topic = text
            entry.notification.fields.collapseID = CollapseIdentifier(rawValue: text)
            for result in await store.store([entry]) { _ = try result.get() }
            #expect(try await store.entries(of: entry.destination.deviceKey).map(\.entry) == [entry])
        }
    }

    @Test(arguments: samples)
    func `A team's name reads back as it was stored, whatever it contains`(_ name: String) async throws {
        try await withTemporaryPath { path in
            let team = Team(id: try #require(TeamID(rawValue: "TEAM000001")), name: name)
            let store = try await SQLiteStore.open(folder: path)
            _ = try await store.apply(.createTeam(team))
            await store.close()
            let reopened = try await SQLiteStore.open(folder: path)
            #expect(reopened.current.teams == [team.id: team])
            await reopened.close()
        }
    }

    // 14 and 15, because `Data` holds up to 14 bytes inline.
    @Test(arguments: [0, 1, 14, 15, 16, 5120])
    func `Payloads of every length read back as they were stored`(_ count: Int) async throws {
        try await withStore { store, _ in
            let entry = Example.entry(bytes: count)
            for result in await store.store([entry]) { _ = try result.get() }
            #expect(try await store.entries(of: entry.destination.deviceKey).map(\.entry) == [entry])
        }
    }

    @Test(arguments: [nil, 0, 1, UInt64(Int64.max) + 1, .max])
    func `Every expiration reads back as it was stored`(_ seconds: UInt64?) async throws {
        try await withStore { store, _ in
            var entry = Example.entry()
            entry.notification.fields.expiration = seconds.map(Expiration.init(seconds:)) ?? .unspecified
            for result in await store.store([entry]) { _ = try result.get() }
            #expect(try await store.entries(of: entry.destination.deviceKey).map(\.entry) == [entry])
        }
    }

    @Test
    func `Stored values have the types of their columns`() async throws {
        try await withStore { store, _ in
            var entry = Example.entry(bytes: 0)
            entry.notification.fields.collapseID = CollapseIdentifier(rawValue: "a")
            for result in await store.store([entry]) { _ = try result.get() }
            let types = try await store.connections.read { database in
                try ["id", "expiration", "push_type", "topic", "collapse_id", "payload"].map {
                    try String.fetchOne(database, sql: "SELECT typeof(\($0)) FROM mailbox")
                }
            }
            #expect(types == ["blob", "null", "null", "text", "text", "blob"])
        }
    }

    @Test
    func `A notification's ID is stored as 16 bytes, in the order in which a UUID is written`() throws {
        let id = NotificationID(high: 0x0011_2233_4455_6677, low: 0x8899_aabb_ccdd_eeff)
        let bytes = Data((0..<16).map { UInt8($0 * 0x11) })
        #expect(id.column == bytes)
        #expect(NotificationID(column: bytes) == id)
        #expect(NotificationID(column: bytes.dropFirst()) == nil)
    }

    @Test
    func `NULL in a column that never contains it reads as an empty value`() throws {
        try DatabaseQueue().read { database in
            let isEmpty = try database.firstRow("SELECT NULL, NULL, NULL") { row in
                row.integer(0) == 0 && row.text(1).isEmpty && row.blob(2).isEmpty
            }
            #expect(isEmpty == true)
        }
    }
}

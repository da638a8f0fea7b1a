import AccountTables
import CommonTesting
import Delivery
import Foundation
import GRDB
import Notifications
import Storage
import Testing

@testable import SQLiteStore

/// Databases/ has the tables of 0.1.0 as they were, with at least one row in each.
@Suite("A database of 0.1.0 is opened with what it has")
struct FirstDatabaseTests {
    private static let moment = Timestamp(milliseconds: 1_800_000_000_000)
    private static let end = Timestamp(milliseconds: 4_102_444_800_000)
    private static let device = DeviceKey(environment: .development, device: DeviceID(rawValue: 1))
    private static let app = AppID(rawValue: 1)

    /// Opens a copy of the database.
    private static func withStore(_ body: (SQLiteStore) async throws -> Void) async throws {
        try await withTemporaryPath { folder in
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            try await restore(to: folder + "/" + SQLiteStore.fileName)
            let store = try await SQLiteStore.open(folder: folder)
            try await withCleanUp {
                try await body(store)
            } cleanUp: {
                await store.close()
            }
        }
    }

    private static func restore(to path: String) async throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Databases/0.1.0.sql")
        let sql = try String(contentsOf: file, encoding: .utf8)
        let queue = try DatabaseQueue(path: path)
        try await queue.writeWithoutTransaction { database in
            try database.execute(sql: sql)
            let tables = try String.fetchAll(database, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
            #expect(tables.count == 12)
            for table in tables {
                let rows = try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table)")
                #expect(rows ?? 0 > 0, "\(table) has no row")
            }
        }
        try queue.close()
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    @Test func `The accounts, and the numbers of apps that are never used again`() async throws {
        try await Self.withStore { store in
            let accounts = store.current
            let team = Team(id: try #require(TeamID(rawValue: "ABCDE12345")), name: "Shop")
            #expect(accounts.version == 4)
            #expect(accounts.teams == [team.id: team])
            let bundleID = try #require(BundleID(rawValue: "com.example.shop"))
            #expect(accounts.apps == [bundleID: App(id: Self.app, bundleID: bundleID, team: team.id)])
            let key = TeamKey(
                id: try #require(KeyID(rawValue: "KEY1234567")), team: team.id,
                publicKey: [4] + [UInt8](repeating: 1, count: 64), environments: [.development], bundleIDs: [bundleID])
            #expect(accounts.keys == [key.id: key])
            let certificate = TeamCertificate(
                serial: try #require(CertificateSerial("41" + String(repeating: "0", count: 30))), team: team.id,
                bundleID: bundleID, environments: [.development, .production], validUntil: Self.end,
                revoked: Self.moment)
            #expect(accounts.certificates == [certificate.serial: certificate])
            let revoked = DeviceKey(environment: .production, device: DeviceID(rawValue: 3))
            #expect(accounts.revokedDevices == [revoked: Self.moment])
            // The app with the number 2 was deleted.
            let new = try #require(BundleID(rawValue: "com.example.new"))
            let after = try await store.apply(.createApp(bundleID: new, team: team.id))
            #expect(after.apps[new]?.id == AppID(rawValue: 3))
        }
    }

    @Test func `Invitations that nobody has used`() async throws {
        try await Self.withStore { store in
            let invitation = Invitation(
                digest: [UInt8](repeating: 7, count: 32), environment: .production, expires: Self.end)
            let found = try await store.invitations(after: nil, limit: 10, at: Self.moment)
            #expect(found == [invitation])
        }
    }

    @Test func `Registrations, of which those of deleted apps are removed`() async throws {
        try await Self.withStore { store in
            let registration = Registration(
                generation: 1, tokenKeyID: 1, tokenSince: Self.moment, isActive: true, changed: Self.moment)
            #expect(
                try await store.registrations(of: Self.device)
                    == [Self.app: registration, AppID(rawValue: 2): registration])
            while try await store.removeOrphaned(limit: 10) > 0 {}
            #expect(try await store.registrations(of: Self.device) == [Self.app: registration])
            let other = DeviceKey(environment: .development, device: DeviceID(rawValue: 2))
            #expect(try await store.registrations(of: other)[Self.app]?.isActive == false)
        }
    }

    @Test func `Stored notifications, whose versions are older than each new one`() async throws {
        try await Self.withStore { store in
            let stored = try #require(try await store.entries(of: Self.device).first)
            #expect(stored.version == MailboxVersion(rawValue: 5))
            #expect(stored.entry.expires == Self.end)
            let notification = stored.entry.notification
            #expect("\(notification.id)".lowercased() == "6b2f4a3e-0000-4000-8000-000000000010")
            #expect(notification.topic == "com.example.shop" && notification.pushType == .alert)
            #expect(notification.payload.json == Array(#"{"aps":{"alert":"Hello"}}"#.utf8))
            // The reservation that the database has.
            let version = try #require(await store.store([stored.entry]).first).get()
            #expect(version.rawValue >= 1_048_578)
        }
    }

    @Test func `A stored notification is the oldest of what its app keeps from now on`() async throws {
        try await Self.withStore { store in
            let bundleID = try #require(BundleID(rawValue: "com.example.shop"))
            #expect(store.current.apps[bundleID]?.keep == 1)
            _ = try await store.apply(.setKeep(bundleID, 5))
            var entry = try #require(try await store.entries(of: Self.device).first).entry
            let first = entry.notification.id
            entry.notification.fields.id = NotificationID(high: 1, low: 2)
            _ = try #require(await store.store([entry]).first).get()
            let stored = try await store.entries(of: Self.device)
            #expect(stored.map(\.entry.notification.id) == [first, entry.notification.id])
            #expect(stored.first?.version == MailboxVersion(kept: 5))
        }
    }

    @Test func `Feedback, whose marks are never used again`() async throws {
        try await Self.withStore { store in
            let token = try #require(DeviceToken([UInt8](repeating: 15, count: 32)))
            let list = FeedbackList(environment: .development, app: Self.app)
            let listed = ListedFeedback(mark: FeedbackMark(rawValue: 7), token: token, moment: Self.moment)
            #expect(try await store.entries(of: list, after: nil, limit: 10) == [listed])
            try await store.confirm(list, through: listed.mark)
            let destination = Destination(
                environment: .development, device: DeviceID(rawValue: 2), app: Self.app)
            try await store.record([
                FeedbackEntry(destination: destination, generation: 1, token: token, moment: Self.moment)
            ])
            #expect(try await store.entries(of: list, after: listed.mark, limit: 10).map(\.token) == [token])
        }
    }
}

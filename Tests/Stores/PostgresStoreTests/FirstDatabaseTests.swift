import AccountTables
import CommonTesting
import Delivery
import Foundation
import Notifications
import PostgresClient
import PostgresTesting
import Storage
import Testing

@testable import PostgresStore

/// Databases/ has the tables of the first service that used PostgreSQL as they were, with at least one row in each.
@Suite("A database of the first service is opened with what it has", .timeLimit(.minutes(2)))
struct FirstDatabaseTests {
    private static let moment = Timestamp(milliseconds: 1_800_000_000_000)
    private static let end = Timestamp(milliseconds: 4_102_444_800_000)
    private static let device = DeviceKey(environment: .development, device: DeviceID(rawValue: 1))
    private static let app = AppID(rawValue: 1)

    @Test func `in PostgreSQL`() async throws {
        let configuration = try await testConfiguration()
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Databases/first.sql")
        try await TestServer.execute(try String(contentsOf: file, encoding: .utf8), in: configuration.location)
        let store = try await PostgresStore.open(configuration)
        try await withCleanUp {
            try Self.checkAccounts(store.current)
            try await Self.checkDevices(store)
            let name = try #require(SecretName(rawValue: "token-key-1"))
            #expect(try await store.secrets.secret(name) == [1, 2, 3])
            let invitation = Invitation(
                digest: [UInt8](repeating: 7, count: 32), environment: .production, expires: Self.end)
            #expect(try await store.invitations(after: nil, limit: 10, at: Self.moment) == [invitation])
            #expect(try await store.nodes().first { $0.name == "there" }?.state == .gone)
            try await Self.checkNodes(store, in: configuration.location)
            try await Self.checkNumbers(store)
        } cleanUp: {
            await store.close()
        }
    }

    /// Checks which node holds a device, and what nodes announce to each other. A node of the first version may still run.
    private static func checkNodes(_ store: PostgresStore, in location: PostgresLocation) async throws {
        // Fails if an announcement of the node is left.
        while try await store.removeGoneNodes() {}
        #expect(try await store.nodes().map(\.name) == ["here"])
        let hold = try #require(try await store.claim([device]).first)
        #expect(hold.epoch == 4)
        try await TestServer.execute("INSERT INTO carillon.announcement VALUES ('\\x01', 1, 0, 1, 4)", in: location)
        let destination = Destination(environment: .development, device: device.device, app: app)
        #expect(try await store.drainAnnouncements(limit: 10) == [.changed(destination)])
    }

    /// Checks that no number is used again.
    private static func checkNumbers(_ store: PostgresStore) async throws {
        let list = FeedbackList(environment: .development, app: app)
        let last = FeedbackMark(rawValue: 1)
        try await store.confirm(list, through: last)
        let token = try #require(DeviceToken([UInt8](repeating: 15, count: 32)))
        let destination = Destination(environment: .development, device: DeviceID(rawValue: 2), app: app)
        try await store.record([
            FeedbackEntry(destination: destination, generation: 1, token: token, moment: moment)
        ])
        #expect(try await store.entries(of: list, after: last, limit: 10).map(\.mark) == [FeedbackMark(rawValue: 2)])
        let new = try #require(BundleID(rawValue: "com.example.new"))
        let team = try #require(TeamID(rawValue: "ABCDE12345"))
        #expect(try await store.apply(.createApp(bundleID: new, team: team)).apps[new]?.id == AppID(rawValue: 3))
    }

    private static func checkAccounts(_ accounts: AccountsSnapshot) throws {
        let team = Team(id: try #require(TeamID(rawValue: "ABCDE12345")), name: "Shop")
        #expect(accounts.version == 4)
        #expect(accounts.teams == [team.id: team])
        let bundleID = try #require(BundleID(rawValue: "com.example.shop"))
        #expect(accounts.apps == [bundleID: App(id: app, bundleID: bundleID, team: team.id)])
        let key = TeamKey(
            id: try #require(KeyID(rawValue: "KEY1234567")), team: team.id,
            publicKey: [4] + [UInt8](repeating: 1, count: 64), environments: [.development], bundleIDs: [bundleID])
        #expect(accounts.keys == [key.id: key])
        let certificate = TeamCertificate(
            serial: try #require(CertificateSerial("41" + String(repeating: "0", count: 30))), team: team.id,
            bundleID: bundleID, environments: [.development, .production], validUntil: end, revoked: moment)
        #expect(accounts.certificates == [certificate.serial: certificate])
        let revoked = DeviceKey(environment: .production, device: DeviceID(rawValue: 3))
        #expect(accounts.revokedDevices == [revoked: moment])
    }

    private static func checkDevices(_ store: PostgresStore) async throws {
        let registration = Registration(
            generation: 1, tokenKeyID: 1, tokenSince: moment, isActive: true, changed: moment)
        // One is of a deleted app.
        #expect(try await store.registrations(of: device).count == 2)
        while try await store.removeOrphaned(limit: 10) > 0 {}
        #expect(try await store.registrations(of: device) == [app: registration])
        let stored = try #require(try await store.entries(of: device).first)
        #expect(stored.version == MailboxVersion(rawValue: 5))
        let notification = stored.entry.notification
        #expect("\(notification.id)".lowercased() == "6b2f4a3e-0000-4000-8000-000000000010")
        #expect(notification.topic == "com.example.shop" && notification.pushType == .alert)
        #expect(notification.payload.json == Array(#"{"aps":{"alert":"Hello"}}"#.utf8))
        let token = try #require(DeviceToken([UInt8](repeating: 15, count: 32)))
        let feedback = ListedFeedback(mark: FeedbackMark(rawValue: 1), token: token, moment: moment)
        let list = FeedbackList(environment: .development, app: app)
        #expect(try await store.entries(of: list, after: nil, limit: 10) == [feedback])
        // From now on the app keeps more.
        let bundleID = try #require(BundleID(rawValue: "com.example.shop"))
        #expect(store.current.apps[bundleID]?.keep == 1)
        _ = try await store.apply(.setKeep(bundleID, 5))
        var entry = stored.entry
        entry.notification.fields.id = NotificationID(high: 1, low: 2)
        _ = try #require(await store.store([entry]).first).get()
        let kept = try await store.entries(of: device)
        #expect(kept.map(\.entry.notification.id) == [notification.id, entry.notification.id])
        #expect(kept.first?.version == MailboxVersion(kept: 5))
        _ = try await store.apply(.setKeep(bundleID, 1))
        #expect(try await store.fitMailboxes(limit: 10) == 1)
        #expect(try await store.entries(of: device).map(\.entry.notification.id) == [entry.notification.id])
        // The mailbox expires by the column that a later version has added.
        #expect(try await store.removeExpired(before: end.advanced(by: .seconds(1)), limit: 10) == 1)
        #expect(try await store.entries(of: device).isEmpty)
    }
}

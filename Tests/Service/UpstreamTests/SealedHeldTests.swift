import Delivery
import Foundation
import GRDB
import Management
import Notifications
import ProviderTesting
import SQLiteStore
import Service
import Storage
import Testing
import Trust

@testable import DeliveryTesting
@testable import ServiceTesting
@testable import Upstream

/// What is held is encrypted in the database, also what release 0.2.0 has left there in clear.
@Suite(.timeLimit(.minutes(5))) struct SealedHeldTests {
    private static let token = "c0ffee" + String(repeating: "7e", count: 29)
    private static let text = "A sentence that nobody but the phone may read"
    /// So long that SQLite keeps a part of it on another page.
    private static let payload = #"{"aps":{"alert":"\#(text)"},"more":"\#(String(repeating: "a", count: 3_900))"}"#

    /// Whether the database's files have the device token or the payload in clear.
    private static func isReadable(in folder: String) throws -> Bool {
        let secrets = [Data(try #require(Hexadecimal.bytes(token))), Data(token.utf8), Data(text.utf8)]
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasPrefix(SQLiteStore.fileName) }
        #expect(files.contains(SQLiteStore.fileName))
        return try files.contains { file in
            // The index of the log belongs to the running process, and has no contents.
            guard !file.hasSuffix("-shm") else { return false }
            let bytes = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + file))
            return secrets.contains { bytes.range(of: $0) != nil }
        }
    }

    private static func document(_ url: String) throws -> ManagementMessages.NewUpstream {
        var document = ManagementMessages.NewUpstream(
            url: url, authority: try TestAuthority.rootPEM(), credentials: try GatewayRig.ownKey())
        document.hold = "PT1H"
        return document
    }

    @Test func `A held notification is unreadable in the database, and so is what an earlier release has left there`()
        async throws
    {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            let id = UUID().uuidString.lowercased()
            let left = (1...3).map { _ in UUID().uuidString.lowercased() }
            try await TestService.runTwice { test in
                try await test.setUpstream(try Self.document("https://127.0.0.1:1"))
                let client = try await test.connectProvider()
                let headers = ProviderHeaders(Self.token, token: try test.providerToken()).with("apns-id", id)
                #expect(try await client.send(headers.fields, body: Self.payload).status == 200)
                await client.close()
                #expect(try !Self.isReadable(in: test.service.folder.path))
                return try #require(test.description.key).teamID
            } between: { folder, team in
                try Self.holdInClear(left, team: team, in: folder)
                #expect(try Self.isReadable(in: folder))
            } _: { test, _ in
                #expect(try !Self.isReadable(in: test.service.folder.path))
                try await test.setUpstream(try Self.document("https://127.0.0.1:\(server.port)"))
                // One of those was deleted.
                await server.log.requests(3)
                #expect(Set(server.log.requests.map { $0.headers["apns-id"] }) == Set([id] + left.dropFirst()))
                #expect(
                    server.log.requests.allSatisfy { $0.path == "/3/device/\(Self.token)" && $0.body == Self.payload })
                #expect(try !Self.isReadable(in: test.service.folder.path))
            }
        }
    }

    /// Stores notifications as release 0.2.0 did, and deletes the first one, as when it was sent.
    private static func holdInClear(_ ids: [String], team: String, in folder: String) throws {
        let database = try DatabaseQueue(path: folder + "/" + SQLiteStore.fileName)
        try database.inDatabase { database in
            for id in ids {
                try database.execute(
                    sql: """
                        INSERT INTO held_push (bundle_id, environment, expires, taken, token, payload, headers)
                        VALUES ('com.example.app', 0, ?, 0, ?, ?, ?)
                        """,
                    arguments: [
                        Int64.max, Data(try #require(Hexadecimal.bytes(token))),
                        Data(payload.utf8),
                        Data(
                            #"{"id":"\#(id)","topic":"com.example.app","share":"team \#(team)","via":"2 gateway"}"#.utf8
                        ),
                    ])
            }
            try database.execute(sql: "DELETE FROM held_push WHERE number = (SELECT min(number) FROM held_push)")
        }
        try database.close()
    }

    // MARK: Places

    private static func push(_ id: String, _ bundleID: String) throws -> HeldPush {
        let place = UpstreamPlace(bundleID: try #require(BundleID(rawValue: bundleID)), environment: .production)
        let push = ForwardedPush(
            deviceToken: [1, 2, 3], topic: nil, id: id, payload: Array("{}".utf8),
            share: ForwardingShare(rawValue: "team ABCDE12345"), via: "")
        return HeldPush(push, of: place, expires: Timestamp(milliseconds: .max / 2))
    }

    /// Another row with the encrypted parts of this one.
    private static func moved(_ push: HeldPush, to other: HeldPush) -> HeldPush {
        HeldPush(
            number: other.number, place: other.place, expires: other.expires, taken: other.taken,
            deviceToken: push.deviceToken, payload: push.payload, headers: other.headers)
    }

    @Test func `What is encrypted for one row does not open in another`() throws {
        let seal = HeldSeal(try #require(CredentialSeal(key: CredentialSeal.makeKey())))
        let push = try Self.push("a", "com.example.app")
        let sealed = try seal.sealed(push)
        #expect(seal.opened(sealed) == push)
        for other in [try Self.push("b", "com.example.app"), try Self.push("a", "com.example.other")] {
            #expect(seal.opened(Self.moved(sealed, to: other)) == nil)
        }
        let swapped = HeldPush(
            number: 0, place: sealed.place, expires: sealed.expires, taken: sealed.taken, deviceToken: sealed.payload,
            payload: sealed.deviceToken, headers: sealed.headers)
        #expect(seal.opened(swapped) == nil)
        let otherKey = HeldSeal(try #require(CredentialSeal(key: CredentialSeal.makeKey())))
        #expect(otherKey.opened(sealed) == nil)
    }

    @Test func `What does not open is dropped, and the log says so`() async throws {
        let (store, log) = (try SQLiteStore.inMemory(), RecordingLog())
        let seal = HeldSeal(try #require(CredentialSeal(key: CredentialSeal.makeKey())))
        let held = SealedHeldPushes(
            store, seal, log: log,
            clock: ServiceClock { Moment(time: Timestamp(milliseconds: 1), uptime: .init(nanoseconds: 1)) })
        let id = "8b1e5b4a-9c0c-4d5e-8f00-000000000001"
        let push = try Self.push(id, "com.example.app")
        let pushes: any HeldPushes = store
        try await pushes.hold(push)
        let good = try Self.push("8b1e5b4a-9c0c-4d5e-8f00-000000000002", "com.example.app")
        try await held.hold(good)
        let now = Timestamp(milliseconds: 1)
        let claimed = try await held.claimHeld(of: push.place, limit: 10, at: now, until: now.advanced(by: .seconds(1)))
        #expect(claimed.map(\.headers.id) == [good.headers.id] && claimed.first?.deviceToken == good.deviceToken)
        #expect(log.events.map(\.step) == [.discarded(.damaged)])
        #expect(log.events.map(\.subject.id) == [NotificationID(id)])
        #expect(
            try await pushes.claimHeld(
                of: push.place, limit: 10, at: now.advanced(by: .seconds(2)), until: .init(milliseconds: 9_999)
            ).count == 1)
    }
}

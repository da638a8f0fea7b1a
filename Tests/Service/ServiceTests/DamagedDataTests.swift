import CFaultyDisk
import Foundation
import GRDB
import InMemoryLogging
import Logging
import Management
import Notifications
import Service
import Storage
import Testing

@testable import ServiceTesting

/// Data folders that were changed after the service had ended, or are on a full disk.
@Suite(.timeLimit(.minutes(2))) struct DamagedDataTests {
    private func headers(_ method: String, _ path: String) -> [(String, String)] {
        [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
    }

    private func register(_ bundleID: String, _ client: WireClient) async throws -> String {
        let answer = try await client.send(headers("PUT", "/1/apps/\(bundleID)"), body: "")
        return try required(answer.body.split(separator: "\"").dropFirst(3).first.map(String.init))
    }

    private func push(
        _ alert: String, _ token: String, id: String, topic: String = "com.example.app", _ test: TestService,
    ) async throws -> Int {
        let client = try await test.connectProvider()
        let fields = ProviderHeaders(token, topic: topic, token: try test.providerToken()).adding("apns-id", id).fields
        let answer = try await client.send(fields, body: #"{"aps":{"alert":"\#(alert)"}}"#)
        await client.close()
        return answer.status
    }

    /// The next line of the stream that is not a keep-alive.
    private func nextLine(_ stream: WireClient.Open) async throws -> String? {
        while let line = try await stream.nextLine() {
            if !line.isEmpty { return line }
        }
        return nil
    }

    /// Columns other than the payload.
    @Test(arguments: [
        "push_type = 'a b'", "push_type = CAST(x'ff' AS TEXT)", "priority = 77", "contents = 4096",
        "contents = -1",
        "collapse_id = hex(zeroblob(33))", "id = x'00'", "topic = CAST(x'ff00' AS TEXT)", "version = -1",
    ])
    func `A damaged row is dropped and logged, and the device gets what other apps have in their mailboxes`(
        _ damage: String
    ) async throws {
        let (bad, good) = (UUID().uuidString.lowercased(), UUID().uuidString.lowercased())
        try await TestService.runTwice { test in
            let _: ManagementMessages.AppMade = try await test.administer(
                "POST", "/v1/apps",
                ManagementMessages.NewApp(
                    team: try required(test.description.key).teamID, bundleID: "com.example.other"))
            let certificate = try await test.makeDeviceCertificate()
            let client = try await test.connectCourier(certificate)
            let tokens = [
                try await register("com.example.app", client), try await register("com.example.other", client),
            ]
            await client.close()
            #expect(try await push("torn", tokens[0], id: bad, test) == 200)
            #expect(try await push("whole", tokens[1], id: good, topic: "com.example.other", test) == 200)
            return certificate
        } between: { folder, _ in
            let database = try DatabaseQueue(path: folder + "/carillon.sqlite")
            try database.write {
                try $0.execute(sql: "UPDATE mailbox SET \(damage) WHERE topic = 'com.example.app'")
                #expect($0.changesCount == 1)
            }
            try database.close()
        } _: { test, certificate in
            let client = try await test.connectCourier(certificate)
            let stream = try await client.open(headers("GET", "/1/notifications"), endStream: true)
            let line = try required(try await nextLine(stream))
            #expect(line.contains(good), "\(line)")
            try await test.follow("/v1/log?follow=true") { $0.contains(#""reason":"damaged""#) }
            await client.close()
        }
    }

    @Test(arguments: [
        "{\"aps\":{\"alert\":\n\"torn\"}}", "{\"aps\":{\"alert\":\"torn\u{0}\"}}", "\u{0}\u{0}\u{0}", "{\"aps\":",
    ])
    func `A damaged stored payload is dropped and logged, and the device's stream goes on`(
        _ damaged: String
    ) async throws {
        let (bad, good) = (UUID().uuidString.lowercased(), UUID().uuidString.lowercased())
        try await TestService.runTwice { test in
            let certificate = try await test.makeDeviceCertificate()
            let client = try await test.connectCourier(certificate)
            let token = try await register("com.example.app", client)
            await client.close()
            #expect(try await push("torn", token, id: bad, test) == 200)
            return (certificate, token)
        } between: { folder, _ in
            let database = try DatabaseQueue(path: folder + "/carillon.sqlite")
            try database.write {
                try $0.execute(sql: "UPDATE mailbox SET payload = ?", arguments: [Data(damaged.utf8)])
                #expect($0.changesCount == 1)
            }
            try database.close()
        } _: { test, kept in
            let client = try await test.connectCourier(kept.0)
            let stream = try await client.open(headers("GET", "/1/notifications"), endStream: true)
            // Wait until the damaged notification is dropped, before another one can replace it.
            let log = try await test.follow("/v1/log?follow=true&id=\(bad)") {
                $0.contains(#""event":"discarded""#) && $0.hasSuffix("\n")
            }
            #expect(log.contains { $0.contains(#""reason":"damaged""#) }, "\(log)")
            async let answer = push("sound", kept.1, id: good, test)
            let line = try required(try await nextLine(stream))
            #expect(line.contains(good) && line.contains("sound"))
            let sending = try required(line.firstMatch(of: /"sending":([0-9]+)/).map { String($0.1) })
            _ = try await client.send(headers("POST", "/1/acknowledgements"), body: #"{"sendings":[\#(sending)]}"#)
            #expect(try await answer == 200)
            await client.close()
        }
    }

    @Test func `A full disk does not prevent a start: stored notifications are delivered, and new ones get 503`()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cs-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: folder) }
        try #require(faulty_disk_install() == 0)
        let disk = faulty_disk_add(folder.path)
        try #require(disk >= 0)
        defer { faulty_disk_set(disk, FAULTY_DISK_NONE) }
        var kept: (certificate: ClientCertificate, token: String)?
        let (stored, refused) = (UUID().uuidString.lowercased(), UUID().uuidString.lowercased())
        try await TestService.run {
            $0.dataFolder = folder.path
        } _: { test in
            let certificate = try await test.makeDeviceCertificate()
            let client = try await test.connectCourier(certificate)
            kept = (certificate, try await register("com.example.app", client))
            await client.close()
            #expect(try await push("stored", try required(kept).token, id: stored, test) == 200)
        }
        let (certificate, token) = try required(kept)
        // Several starts in a row find no room.
        for _ in 0..<2 {
            faulty_disk_set(disk, FAULTY_DISK_FULL)
            try await TestService.run {
                $0.dataFolder = folder.path
            } _: { test in
                #expect(try await push("refused", token, id: refused, test) == 503)
                let client = try await test.connectCourier(certificate)
                let stream = try await client.open(headers("GET", "/1/notifications"), endStream: true)
                #expect(try required(try await nextLine(stream)).contains(stored))
                await client.close()
            }
        }
        try await TestService.run {
            $0.dataFolder = folder.path
        } _: { test in
            let onFullDisk = try await push("refused", token, id: refused, test)
            faulty_disk_set(disk, FAULTY_DISK_NONE)
            let withRoom = try await push("stored later", token, id: refused, test)
            #expect(onFullDisk == 503 && withRoom == 200)
        }
    }

    @Test(arguments: [("secrets/authority.json", 0o640, 0o600), ("secrets", 0o750, 0o700)])
    func `Secrets that others could read are made private, and the log says so`(
        _ name: String, _ open: Int, _ closed: Int,
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cs-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: folder) }
        var settings = Settings()
        settings.dataFolder = folder.path
        settings.ports = .ephemeral
        settings.eventLoops = 1
        let path = folder.appendingPathComponent(name).path
        var warnings: [[String]] = []
        for round in 0..<3 {
            if round == 1 { try FileManager.default.setAttributes([.posixPermissions: open], ofItemAtPath: path) }
            let log = InMemoryLogHandler()
            let service = try await CarillonService.start(settings, logger: Logger(label: "test") { _ in log })
            let serving = Task { await service.run() }
            serving.cancel()
            await serving.value
            warnings.append(
                log.entries.filter { $0.level == .warning && $0.message == "Secrets were open to other users" }
                    .map { "\($0.metadata["paths"] ?? "")" })
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == closed)
        }
        #expect(warnings.map(\.count) == [0, 1, 0])
        #expect(warnings[1].first?.contains(path) == true, "\(warnings)")
    }
}

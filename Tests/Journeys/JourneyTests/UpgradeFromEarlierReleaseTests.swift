import CommonTesting
import Foundation
import GRDB
import Testing

@testable import ServiceTesting

/// Starts the service on data folders that earlier releases have written. Folders/ has one for each release that changed
/// the folder: its files, its database as SQL, and the identity of the device whose notification is stored.
struct UpgradeFromEarlierReleaseTests {
    /// The contents of a kept folder.
    struct Kept: Sendable, CustomTestStringConvertible {
        let release: String
        let token: String
        let topic: String
        let team: String
        let alert: String

        var testDescription: String { release }
    }

    static let kept = ["0.1.0", "0.2.0"].map { release in
        Kept(
            release: release,
            token: "1e41b1546c06186f265c227bd40436bcf1fdfe40ff3e5c78d3db69e0655a24ba",
            topic: "com.example.app",
            team: "Z8MRP12322",
            alert: "Accepted by \(release)",
        )
    }

    @Test(arguments: kept)
    func `A folder of an earlier release keeps its authority, teams, device tokens and stored notifications`(
        _ kept: Kept
    ) async throws {
        try await withTemporaryFolder { folder in
            let data = folder + "/data"
            try Self.restore(kept.release, to: data)
            let authority = try String(contentsOfFile: data + "/ca.pem", encoding: .utf8)
            try await CarillonProcess.with(data: data) { service in
                #expect(try FoundationJSON(service.readyLine)["caPEM"]?.text == authority)
                let teams = try await service.carillon("team", "list").objects
                #expect(teams.contains { $0["teamID"]?.text == kept.team })
                let device = try #require(try await service.carillon("device", "list").objects.first)
                let app: FoundationJSON = ["bundleID": .string(kept.topic), "token": .string(kept.token), "waiting": 1]
                #expect(device["apps"] == [app])
                // A new version can read what an earlier one stored. The stream has it before anything else is sent.
                let identity = data + "/device.pem"
                try await service.listen(as: identity) { stream in
                    let stored = try await stream.nextNotification()
                    #expect(stored["payload"] == ["aps": ["alert": .string(kept.alert)]])
                    #expect(try await service.acknowledge(stored, as: identity).status == 204)
                }
                // Sign with the key that the first start made.
                let sent = try await service.carillon(
                    "send", "--token", kept.token, "--topic", kept.topic, "--alert", "1")
                #expect(sent.status == 0, "\(sent.errors)")
            }
        }
    }

    @Test(arguments: kept)
    func `A folder of an earlier release gets subscriptions to Web Push, and keeps what was stored`(
        _ kept: Kept
    ) async throws {
        try await withTemporaryFolder { folder in
            let data = folder + "/data"
            try Self.restore(kept.release, to: data)
            let identity = data + "/device.pem"
            var path = ""
            func send(_ text: String, _ service: CarillonProcess) async throws {
                let ready = try FoundationJSON(service.readyLine)
                let origin = try #require(ready["development"]?["webPush"]?.text)
                let answer = try await Curl.request(
                    "POST", origin + path, ca: service.ready.ca,
                    headers: [("TTL", "86400"), ("Content-Encoding", "aes128gcm")], body: Array(text.utf8))
                #expect(answer.status == 201, "\(String(decoding: answer.body, as: UTF8.self))")
            }
            try await CarillonProcess.with(data: data, ["--web-push", "127.0.0.1:0"]) { service in
                let made = try await service.carillon(
                    "device", "subscribe", "--identity", identity, "--bundle-id", kept.topic, "--name", "account",
                    "--out", folder + "/keys.json")
                let endpoint = try #require(made.object["endpoint"]?.text, "\(made.errors)")
                path = try #require(URL(string: endpoint)?.path)
                try await send("first", service)
            }
            try await CarillonProcess.with(data: data, ["--web-push", "127.0.0.1:0"]) { service in
                try await send("second", service)
                try await service.listen(as: identity) { stream in
                    var messages: [String?] = []
                    for _ in 0..<3 {
                        let line = try await stream.nextNotification()
                        messages.append(line["webPush"]?["body"]?.text ?? line["payload"]?["aps"]?["alert"]?.text)
                    }
                    #expect(Set(messages) == [kept.alert, "Zmlyc3Q", "c2Vjb25k"])
                    #expect(messages.firstIndex(of: "Zmlyc3Q") ?? 3 < messages.firstIndex(of: "c2Vjb25k") ?? 0)
                }
            }
        }
    }

    @Test func `Every kept folder is tried`() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.folders.path)
        #expect(Set(folders) == Set(Self.kept.map(\.release)))
    }

    private static let folders = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Folders")

    private static func restore(_ release: String, to data: String) throws {
        let source = folders.appendingPathComponent(release)
        try FileManager.default.copyItem(at: source, to: URL(fileURLWithPath: data))
        // Set the permissions, because Git does not keep them.
        for path in try FileManager.default.subpathsOfDirectory(atPath: data) + [""] {
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: "\(data)/\(path)", isDirectory: &isFolder)
            let rights = isFolder.boolValue ? 0o700 : 0o600
            try FileManager.default.setAttributes([.posixPermissions: rights], ofItemAtPath: "\(data)/\(path)")
        }
        let sql = try String(contentsOfFile: data + "/carillon.sql", encoding: .utf8)
        let database = try DatabaseQueue(path: data + "/carillon.sqlite")
        try database.writeWithoutTransaction { try $0.execute(sql: sql) }
        try database.close()
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: data + "/carillon.sqlite")
    }
}

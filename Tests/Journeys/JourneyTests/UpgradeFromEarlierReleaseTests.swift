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

    static let kept = [
        Kept(
            release: "0.1.0",
            token: "1e41b1546c06186f265c227bd40436bcf1fdfe40ff3e5c78d3db69e0655a24ba",
            topic: "com.example.app",
            team: "Z8MRP12322",
            alert: "Accepted by 0.1.0",
        )
    ]

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

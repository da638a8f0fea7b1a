import CommonTesting
import Foundation
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// The lines and the exit status of `carillon send`, and which service it uses.
@Suite(.service(), .timeLimit(.minutes(2))) struct SendCommandTests {
    private let bundleID = "com.example.app"
    private func newToken() async throws -> String {
        let service = try CarillonProcess.current
        return try await service.register(bundleID, on: try await service.activate())
    }

    @Test func `Prints the status and the identifier`() async throws {
        let sent = try await CarillonProcess.current.carillon(
            "send", "--token", try await newToken(), "--topic", bundleID, "--alert", "Hello")
        #expect(sent.status == 0)
        let object = try sent.object
        #expect(object.keys == ["status", "apnsID"])
        #expect(object["status"] == 200)
        #expect(try #require(object["apnsID"]?.text).isCanonicalUUID)
    }

    @Test func `Prints the reason and fails when it is refused`() async throws {
        let sent = try await CarillonProcess.current.carillon(
            "send", "--token", "00", "--topic", bundleID, "--alert", "Hello")
        #expect(sent.status == 1)
        let object = try sent.object
        #expect(object.keys == ["status", "reason", "apnsID", "detail"])
        #expect(object["status"] == 400 && object["reason"] == "BadDeviceToken")
        #expect(try #require(object["apnsID"]?.text).isCanonicalUUID)
        #expect(object["detail"]?.text?.isEmpty == false)
    }

    @Test func `A refusal names the identifier that was given`() async throws {
        let id = "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"
        let sent = try await CarillonProcess.current.carillon(
            "send", "--token", "00", "--topic", bundleID, "--alert", "Hello", "--id", id)
        #expect(try sent.object["apnsID"] == .string(id))
    }

    @Test func `Passes on what it is given`() async throws {
        let service = try CarillonProcess.current
        let identity = try await service.activate()
        let token = try await service.register(bundleID, on: identity)
        let expiration = Provider.now + 3600
        let sent = try await service.carillon(
            "send", "--token", token, "--topic", bundleID, "--payload", "-", "--id",
            "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab", "--expiration", "\(expiration)", "--priority", "5",
            "--collapse-id", "score", "--push-type", "background",
            input: Array(#"{"aps":{"content-available":1}}"#.utf8))
        #expect(try sent.object == ["status": 200, "apnsID": "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"])
        let line = try await service.firstNotification(for: identity)
        #expect(line["id"] == "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab")
        #expect(line["expiration"] == .number(Double(expiration)))
        #expect(line["priority"] == 5)
        #expect(line["collapseID"] == "score")
        #expect(line["pushType"] == "background")
        #expect(line["payload"] == ["aps": ["content-available": 1]])
    }

    @Test func `Takes a payload from a pipe`() async throws {
        let sent = try await CarillonProcess.current.carillon(
            "send", "--token", try await newToken(), "--topic", bundleID, "--payload", "/dev/stdin",
            input: Array(#"{"aps":{"alert":"Hello"}}"#.utf8))
        #expect(sent.status == 0, "\(sent.errors)")
    }

    @Test func `Sends over HTTPS alone`() async throws {
        let sent = try await CarillonProcess.current.carillon(
            "send", "--token", "00", "--topic", bundleID, "--alert", "Hello", "--url", "http://127.0.0.1:1")
        #expect(sent.status == 1)
        #expect(sent.errors.contains("https://host:port"))
    }

    @Test func `Needs no data folder with credentials AURL and an authority`() async throws {
        let service = try CarillonProcess.current
        let token = try await newToken()
        let key = try service.developmentKey
        try await withTemporaryFolder { folder in
            let sent = try await BuiltCommand.run(
                [
                    "send", "--json", "--token", token, "--topic", bundleID, "--alert", "Hello",
                    "--key-file", key.path, "--key-id", key.keyID, "--team-id", key.teamID,
                    "--url", "https://\(try service.addresses(.development).provider)", "--ca", service.ready.ca,
                ], folder: folder)
            #expect(sent.status == 0, "\(sent.errors)")
            #expect(try sent.object["status"] == 200)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }

    @Test func `Sends with a provider certificate`() async throws {
        let service = try CarillonProcess.current
        let token = try await newToken()
        let key = try service.developmentKey
        try await withTemporaryFolder { folder in
            let made = try await service.carillon(
                "certificate", "create", "--team", key.teamID, "--bundle-id", bundleID, "--environment", "development",
                "--out", folder + "/provider.pem")
            #expect(made.status == 0, "\(made.errors)")
            let sent = try await BuiltCommand.run([
                "send", "--json", "--token", token, "--topic", bundleID, "--alert", "Hello", "--certificate",
                folder + "/provider.pem", "--url", "https://\(try service.addresses(.development).provider)",
                "--ca", service.ready.ca,
            ])
            #expect(sent.status == 0, "\(sent.errors)")
            #expect(try sent.object["status"] == 200)
        }
    }

    @Test func `Takes either a key or a certificate`() async throws {
        let sent = try await CarillonProcess.current.carillon(
            "send", "--token", "00", "--topic", bundleID, "--alert", "Hello", "--certificate", "a", "--key-file", "b")
        #expect(sent.status != 0)
        #expect(sent.output.isEmpty)
    }

    @Test func `Does not trust a server of another authority`() async throws {
        let service = try CarillonProcess.current
        let token = try await newToken()
        let key = try service.developmentKey
        let sent = try await BuiltCommand.run([
            "send", "--json", "--token", token, "--topic", bundleID, "--alert", "Hello",
            "--key-file", key.path, "--key-id", key.keyID, "--team-id", key.teamID,
            "--url", "https://\(try service.addresses(.development).provider)",
        ])
        #expect(sent.status != 0)
        #expect(sent.output.isEmpty)
    }

    @Test func `With a key of another team it is refused`() async throws {
        let service = try CarillonProcess.current
        try await withTemporaryFolder { folder in
            let provider = try await service.createProvider(keysIn: folder, bundleID: "com.example.theirs")
            let sent = try await service.carillon(
                "send", "--token", try await newToken(), "--topic", bundleID, "--alert", "Hello", "--key-file",
                "\(folder)/AuthKey_\(provider.keyID).p8", "--key-id", provider.keyID, "--team-id", provider.teamID)
            #expect(sent.status == 1)
            let object = try sent.object
            #expect(object["status"] == 400 && object["reason"] == "TopicDisallowed")
        }
    }

    @Test func `Needs to know what to send`() async throws {
        let sent = try await CarillonProcess.current.carillon("send", "--token", "00", "--topic", bundleID)
        #expect(sent.status != 0)
        #expect(sent.output.isEmpty)
        #expect(sent.errors.contains("--alert"))
    }

    @Test func `A refusal of 410 says since when`() async throws {
        let service = try CarillonProcess.current
        let identity = try await service.activate()
        let token = try await service.register(bundleID, on: identity)
        let before = Date().timeIntervalSince1970 * 1000
        _ = try await service.carillon("device", "unregister", "--identity", identity, "--bundle-id", bundleID)
        let sent = try await service.carillon("send", "--token", token, "--topic", bundleID, "--alert", "Hello")
        #expect(sent.status == 1)
        let object = try sent.object
        #expect(object["status"] == 410 && object["reason"] == "Unregistered")
        // Test and service read the same clock, but the service's times are whole milliseconds.
        #expect(try #require(object["timestamp"]?.number) >= before - 1)
        #expect(object.keys.subtracting(["detail"]) == ["status", "reason", "apnsID", "timestamp"])
    }

    /// With the setting, the reason has the spelling that the real service was seen to send.
    @Test(arguments: [nil, "BadEnvironmentKeyInToken"])
    func `A key of the other environment is refused as the setting spells it`(_ spelling: String?) async throws {
        let environment = spelling.map { ["CARILLON_ENVIRONMENT_KEY_REASON": $0] } ?? [:]
        try await CarillonProcess.with(environment: environment) { service in
            try await withTemporaryFolder { folder in
                let token = try await service.register(bundleID, on: try await service.activate())
                let team = try service.developmentKey.teamID
                let provider = try await service.createKey(of: team, in: folder, environment: "production")
                let sent = try await service.carillon(
                    "send", "--token", token, "--topic", bundleID, "--alert", "Hello", "--key-file",
                    "\(folder)/AuthKey_\(provider.keyID).p8", "--key-id", provider.keyID, "--team-id", team)
                #expect(sent.status == 1)
                #expect(try sent.object["reason"] == .string(spelling ?? "BadEnvironmentKeyIdInToken"))
            }
        }
    }
}

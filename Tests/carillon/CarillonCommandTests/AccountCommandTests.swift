import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// The documented behaviour of `carillon team`, `app` and `key`.
@Suite(.service(), .timeLimit(.minutes(2))) struct AccountCommandTests {
    private func newTeam() async throws -> String {
        let made = try await CarillonProcess.current.carillon("team", "create", "--name", "Team")
        return try made.object["teamID"].flatMap(\.text).orThrow(made.errors)
    }

    @Test func `Team create prints a team ID of ten characters`() async throws {
        let made = try await CarillonProcess.current.carillon("team", "create", "--name", "Kiosks")
        #expect(made.status == 0)
        let object = try made.object
        #expect(object.keys == ["teamID"])
        #expect(try #require(object["teamID"]?.text).isAccountID)
    }

    @Test func `Every command reaches the service`() async throws {
        for _ in 0..<20 {
            let made = try await CarillonProcess.current.carillon("team", "create", "--name", "Team")
            #expect(made.status == 0, "\(made.errors)")
        }
    }

    @Test func `App create prints its topics`() async throws {
        let made = try await CarillonProcess.current.carillon(
            "app", "create", "--team", try await newTeam(), "--bundle-id", "com.example.kiosk")
        #expect(made.status == 0)
        #expect(
            try made.object == [
                "bundleID": "com.example.kiosk",
                "topics": ["com.example.kiosk", "com.example.kiosk.voip", "com.example.kiosk.complication"],
                "keep": 1,
            ])
    }

    @Test func `An app is made to keep more notifications, and to keep fewer`() async throws {
        let service = try CarillonProcess.current
        let made = try await service.carillon(
            "app", "create", "--team", try await newTeam(), "--bundle-id", "com.example.till", "--keep", "50")
        #expect(try made.object["keep"] == 50, "\(made.errors)")
        let changed = try await service.carillon("app", "keep", "3", "--bundle-id", "com.example.till")
        #expect(try changed.object["keep"] == 3, "\(changed.errors)")
        #expect(try await service.carillon("app", "show", "com.example.till").object["keep"] == 3)
        let refused = try await service.carillon("app", "keep", "1001", "--bundle-id", "com.example.till")
        #expect(refused.status != 0 && refused.errors.contains("1000"), "\(refused.errors)")
    }

    @Test func `The broadcast channels of an app are switched off and on`() async throws {
        let service = try CarillonProcess.current
        let made = try await service.carillon(
            "app", "create", "--team", try await newTeam(), "--bundle-id", "com.example.silent", "--broadcast", "off")
        #expect(made.status == 0, "\(made.errors)")
        #expect(try await service.carillon("app", "show", "com.example.silent").object["broadcast"] == .bool(false))
        let refused = try await service.carillon(
            "channel", "create", "--bundle-id", "com.example.silent", "--message-storage-policy", "1")
        #expect(refused.status != 0 && refused.errors.contains("--broadcast on"), "\(refused.errors)")
        let changed = try await service.carillon(
            "app", "change", "--bundle-id", "com.example.silent", "--broadcast", "on")
        #expect(try changed.object["broadcast"] == .bool(true))
    }

    @Test func `App create of a team that is not there fails`() async throws {
        let made = try await CarillonProcess.current.carillon(
            "app", "create", "--team", "ZZZZZZZZZZ", "--bundle-id", "com.example.nobody")
        #expect(made.status != 0)
        #expect(made.output.isEmpty)
        #expect(made.errors.contains("ZZZZZZZZZZ"))
    }

    @Test func `A bundle ID is given out once`() async throws {
        let service = try CarillonProcess.current
        let team = try await newTeam()
        let first = try await service.carillon("app", "create", "--team", team, "--bundle-id", "com.example.once")
        try #require(first.status == 0, "\(first.errors)")
        let second = try await service.carillon(
            "app", "create", "--team", try await newTeam(), "--bundle-id", "com.example.once")
        #expect(second.status != 0)
        #expect(second.output.isEmpty)
    }

    @Test func `Key create writes a file that only its owner reads`() async throws {
        try await withTemporaryFolder { folder in
            let made = try await CarillonProcess.current.carillon(
                "key", "create", "--team", try await newTeam(), "--out", folder)
            #expect(made.status == 0)
            let object = try made.object
            #expect(object.keys == ["keyID", "path"])
            let keyID = try #require(object["keyID"]?.text)
            #expect(keyID.isAccountID)
            #expect(object["path"]?.text == "\(folder)/AuthKey_\(keyID).p8")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["AuthKey_\(keyID).p8"])
            #expect(try permissions(ofFile: "\(folder)/AuthKey_\(keyID).p8") == 0o600)
        }
    }

    @Test func `Key create of a team that is not there leaves no file`() async throws {
        try await withTemporaryFolder { folder in
            let made = try await CarillonProcess.current.carillon(
                "key", "create", "--team", "ZZZZZZZZZZ", "--out", folder)
            #expect(made.status != 0)
            #expect(made.output.isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }

    @Test func `A created key signs for its teams apps at once`() async throws {
        let service = try CarillonProcess.current
        try await withTemporaryFolder { folder in
            let provider = try await service.createProvider(keysIn: folder, bundleID: "com.example.signs")
            let token = try await service.register("com.example.signs", on: try await service.activate())
            let push = try WirePush(token: token, topic: "com.example.signs", from: provider)
            #expect(try await service.send(push).status == 200)
        }
    }

    @Test func `Key revoke prints the key`() async throws {
        let service = try CarillonProcess.current
        try await withTemporaryFolder { folder in
            let provider = try await service.createProvider(keysIn: folder, bundleID: "com.example.revokes")
            let revoked = try await service.carillon("key", "revoke", provider.keyID)
            #expect(revoked.status == 0)
            #expect(try revoked.object["keyID"]?.text == provider.keyID)
        }
    }

    @Test func `Key revoke takes effect on a live connection`() async throws {
        let service = try CarillonProcess.current
        try await withTemporaryFolder { folder in
            let provider = try await service.createProvider(keysIn: folder, bundleID: "com.example.live")
            let token = try await service.register("com.example.live", on: try await service.activate())
            let push = try WirePush(token: token, topic: "com.example.live", from: provider)
            let connection = try await service.connect()
            let before = try await connection.send(push)
            let revoked = try await service.carillon("key", "revoke", provider.keyID)
            let after = try await connection.send(push)
            #expect(before.status == 200)
            #expect(revoked.status == 0)
            #expect(after.status == 403)
            #expect(try FoundationJSON(after.body)["reason"] == "InvalidProviderToken")
            await connection.close()
        }
    }

    @Test func `Key revoke takes effect on new connections`() async throws {
        let service = try CarillonProcess.current
        try await withTemporaryFolder { folder in
            let provider = try await service.createProvider(keysIn: folder, bundleID: "com.example.new")
            let token = try await service.register("com.example.new", on: try await service.activate())
            let push = try WirePush(token: token, topic: "com.example.new", from: provider)
            let before = try await service.send(push)
            let revoked = try await service.carillon("key", "revoke", provider.keyID)
            let after = try await service.send(push)
            #expect(before.status == 200)
            #expect(revoked.status == 0)
            #expect(after.status == 403)
            #expect(try after.json["reason"] == "InvalidProviderToken")
        }
    }

    @Test func `Key revoke of a key that is not there fails`() async throws {
        let revoked = try await CarillonProcess.current.carillon("key", "revoke", "ZZZZZZZZZZ")
        #expect(revoked.status != 0)
        #expect(revoked.output.isEmpty)
    }

    @Test func `Without a service a command says so`() async throws {
        try await withTemporaryFolder { folder in
            let made = try await BuiltCommand.run(["team", "create", "--name", "Team", "--data", folder + "/none"])
            #expect(made.status != 0)
            #expect(made.output.isEmpty)
            #expect(made.errors.contains("carillon serve"))
            #expect(!FileManager.default.fileExists(atPath: folder + "/none"))
        }
    }
}

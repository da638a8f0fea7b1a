import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// The documented behaviour of `carillon grant`.
@Suite(.service(), .timeLimit(.minutes(2))) struct GrantCommandTests {
    private let bundleID = "com.example.app"

    private func carillon(
        _ arguments: String...
    ) async throws -> (status: Int32, object: FoundationJSON?, errors: String) {
        let service = try CarillonProcess.current
        let result = try await BuiltCommand.run(arguments + ["--data", service.data, "--json"])
        return (result.status, result.output.isEmpty ? nil : try result.object, result.errors)
    }

    @Test func `A grant is made with a key file, shown, suspended, resumed and revoked`() async throws {
        try await withTemporaryFolder { folder in
            let made = try await carillon(
                "grant", "create", "--bundle-id", bundleID, "--name", "chat.example.org", "--out", folder + "/keys",
                "--topic", bundleID, "--push-type", "alert", "--rate", "5", "--daily", "100", "--payload-bytes",
                "2048", "--expires", "2099-01-31", "--encrypted-only")
            #expect(made.status == 0, "\(made.errors)")
            #expect(made.object?.keys == ["bundleID", "clientKey", "grant", "keyID", "path", "teamID"])
            let grant = try #require(made.object?["grant"]?.text)
            #expect(grant.hasPrefix("g_") && made.object?["clientKey"]?.text?.hasPrefix("ck_") == true)
            let (keyID, path) = (
                try #require(made.object?["keyID"]?.text), try #require(made.object?["path"]?.text)
            )
            #expect(path == folder + "/keys/AuthKey_\(keyID).p8")
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)

            let shown = try await carillon("grant", "show", grant)
            #expect(shown.object?["name"] == "chat.example.org" && shown.object?["rate"] == 5)
            #expect(shown.object?["daily"] == 100 && shown.object?["payloadBytes"] == 2048)
            #expect(shown.object?["expires"] == 4_073_500_800_000)
            #expect(shown.object?["encryptedOnly"] == .bool(true) && shown.object?["suspended"] == .bool(false))
            #expect(shown.object?["topics"] == [.string(bundleID)] && shown.object?["pushTypes"] == ["alert"])
            #expect(shown.object?["clientKey"] == made.object?["clientKey"])

            #expect(try await carillon("grant", "suspend", grant).object?["suspended"] == .bool(true))
            #expect(try await carillon("grant", "resume", grant).object?["suspended"] == .bool(false))
            let listed = try await CarillonProcess.current.carillon("grant", "list")
            #expect(listed.status == 0 && listed.output.contains(grant))
            #expect(try await carillon("grant", "revoke", grant).object?["revoked"] != nil)
            #expect(try await carillon("grant", "resume", grant).status == 1)
            let unknown = try await carillon("grant", "show", "g_aaaaaaaaaaaaaaaa")
            #expect(unknown.status == 1 && unknown.errors.contains("carillon grant list"))
        }
    }

    @Test func `A grant for Web Push is no instance's, which is said`() async throws {
        try await withTemporaryFolder { folder in
            let made = try await BuiltCommand.run([
                "grant", "create", "--bundle-id", bundleID, "--name", "phones", "--web-push",
                "--data", try CarillonProcess.current.data, "--json",
            ])
            let file = folder + "/grant.json"
            try Data(made.output.utf8).write(to: URL(fileURLWithPath: file))
            let refused = try await BuiltCommand.run([
                "instance", "--gateway", "https://127.0.0.1:1", "--grant", file, "--data", folder + "/data",
            ])
            #expect(refused.status != 0 && refused.errors.contains("--web-push"), "\(refused.errors)")
            #expect(!refused.errors.contains("has no keyID"))
        }
    }

    @Test func `A grant for Web Push has a client key and no other`() async throws {
        let made = try await carillon("grant", "create", "--bundle-id", bundleID, "--name", "phones", "--web-push")
        #expect(made.status == 0, "\(made.errors)")
        #expect(made.object?.keys == ["bundleID", "clientKey", "grant", "teamID", "webPush"])
        let grant = try #require(made.object?["grant"]?.text)
        let shown = try await carillon("grant", "show", grant)
        #expect(shown.object?["webPush"] == .bool(true) && shown.object?["keyID"] == nil)
        for more in ["--out", "--public-key"] {
            let both = try await carillon(
                "grant", "create", "--bundle-id", bundleID, "--name", "x", "--web-push", more, "x")
            #expect(both.status == 64 && both.errors.contains("Give one of"), "\(both.errors)")
        }
    }

    @Test func `Encrypted payloads have the form that an option names`() async throws {
        try await withTemporaryFolder { folder in
            func made(_ form: String...) async throws -> (grant: String?, errors: String) {
                let service = try CarillonProcess.current
                let result = try await service.carillon(
                    ["grant", "create", "--bundle-id", bundleID, "--name", "x", "--encrypted-only"] + form
                        + ["--out", folder])
                return (result.status == 0 ? try result.object["grant"]?.text : nil, result.errors)
            }
            let forms: [(String, FoundationJSON)] = [
                ("matrix", "matrix"), ("web-push", "web-push"), ("true", .bool(true)),
                ("data=opaque,count=number", ["keys": ["data": "opaque", "count": "number"]]),
                (#"{"keys":{"room":"identifier"}}"#, ["keys": ["room": "identifier"]]),
            ]
            for (form, shown) in forms {
                let (grant, errors) = try await made(form)
                let grantID = try #require(grant, "\(errors)")
                let object = try await carillon("grant", "show", grantID).object
                #expect(object?["encryptedOnly"] == shown && object?["readable"] != nil)
            }
            for form in ["other", "data=text", "a=opaque,a=number", "a b=opaque", "{"] {
                let (grant, errors) = try await made(form)
                #expect(grant == nil && errors.contains("--encrypted-only takes web-push, matrix"), "\(errors)")
            }
        }
    }

    @Test func `The key of a grant sends, and a device token is refused`() async throws {
        try await withTemporaryFolder { folder in
            let made = try await carillon(
                "grant", "create", "--bundle-id", bundleID, "--name", "sender", "--out", folder)
            let values = try ["path", "keyID", "teamID"].map { try #require(made.object?[$0]?.text) }
            let service = try CarillonProcess.current
            let identity = try await service.activate()
            let token = try await service.register(bundleID, on: identity)
            let sent = try await carillon(
                "send", "--token", token, "--topic", bundleID, "--alert", "Hello", "--key-file", values[0], "--key-id",
                values[1], "--team-id", values[2])
            #expect(sent.status == 1 && sent.object?["reason"] == "BadDeviceToken")
        }
    }

    @Test func `A grant takes the public half of a key, and an invitation is a code`() async throws {
        try await withTemporaryFolder { folder in
            let key = try await ChildProcess.run(
                "sh",
                [
                    "-e", "-c",
                    "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 | openssl pkey -pubout -out public.pem",
                ], folder: folder)
            #expect(key.status == 0, "\(key.errors)")
            let made = try await carillon(
                "grant", "create", "--bundle-id", bundleID, "--name", "own key", "--public-key", folder + "/public.pem")
            #expect(made.status == 0 && made.object?.keys == ["bundleID", "clientKey", "grant", "keyID", "teamID"])
            let again = try await carillon(
                "grant", "create", "--bundle-id", bundleID, "--name", "again", "--public-key", folder + "/public.pem")
            #expect(again.status == 1)
            let invited = try await carillon("grant", "invite", "--bundle-id", bundleID, "--name", "invited")
            #expect(invited.status == 0 && invited.object?.keys == ["code", "expires", "id"])
        }
    }

    @Test func `A grant is changed, and 0 or an empty text removes a limit`() async throws {
        try await withTemporaryFolder { folder in
            let made = try await carillon(
                "grant", "create", "--bundle-id", bundleID, "--name", "before", "--out", folder, "--rate", "5",
                "--topic",
                bundleID, "--expires", "2099-01-31", "--priority", "5", "--registration", "code", "--encrypted-only")
            let grant = try #require(made.object?["grant"]?.text)
            let changed = try await carillon("grant", "set", grant, "--name", "after", "--daily", "7")
            #expect(changed.status == 0, "\(changed.errors)")
            #expect(changed.object?["name"] == "after" && changed.object?["daily"] == 7 && changed.object?["rate"] == 5)
            #expect(changed.object?["registration"] == "code" && changed.object?["encryptedOnly"] == .bool(true))
            let without = try await carillon(
                "grant", "set", grant, "--rate", "0", "--topic", "", "--expires", "0", "--priority", "0",
                "--registration",
                "open", "--encrypted-only", "false")
            #expect(without.status == 0, "\(without.errors)")
            for member in ["rate", "topics", "expires", "priorities"] {
                #expect(without.object?[member] == nil, "\(member)")
            }
            #expect(without.object?["registration"] == "open" && without.object?["encryptedOnly"] == .bool(false))
            #expect(try await carillon("grant", "set", grant, "--expires", "2099-01-31").object?["expires"] != nil)
            let withoutEnd = try await carillon("grant", "set", grant, "--expires", "")
            #expect(withoutEnd.status == 0 && withoutEnd.object?["expires"] == nil, "\(withoutEnd.errors)")
            #expect(try await carillon("grant", "set", grant, "--rate", "-1").status != 0)
            #expect(try await carillon("grant", "set", "g_aaaaaaaaaaaaaaaa", "--rate", "1").status == 1)
        }
    }

    @Test func `Keys are added and ended, and handles listed and removed`() async throws {
        try await withTemporaryFolder { folder in
            let made = try await carillon(
                "grant", "create", "--bundle-id", bundleID, "--name", "keys", "--out", folder)
            let (grant, first) = (
                try #require(made.object?["grant"]?.text), try #require(made.object?["keyID"]?.text)
            )
            let file = folder + "/second.p8"
            let second = try await carillon("grant", "key", "add", grant, "--out", file)
            #expect(second.status == 0 && second.object?["path"]?.text == file, "\(second.errors)")
            #expect(try String(contentsOfFile: file, encoding: .utf8).contains("PRIVATE KEY"))
            let third = try await carillon("grant", "key", "add", grant, "--out", folder + "/third.p8")
            #expect(third.status == 1 && third.errors.contains("two keys"))
            #expect(!FileManager.default.fileExists(atPath: folder + "/third.p8"), "No file is left of it.")
            let client = try await carillon("grant", "key", "add", grant, "--client")
            #expect(client.object?["clientKey"]?.text?.hasPrefix("ck_") == true)
            #expect(try await carillon("grant", "key", "end", grant, first).status == 0)
            let last = try await carillon("grant", "key", "end", grant, try #require(second.object?["keyID"]?.text))
            #expect(last.status == 1 && last.errors.contains("only one"))
            #expect(try await carillon("grant", "key", "add", grant).status != 0)

            let none = try await carillon("grant", "handles", grant)
            #expect(none.status == 0 && none.object == nil)
            #expect(try await carillon("grant", "handles", grant, "--ended").status == 0)
            let removed = try await carillon("grant", "handle", "remove", grant, String(repeating: "5a", count: 32))
            #expect(removed.status == 1 && removed.errors.contains("grant handles"))
        }
    }

    @Test(
        arguments: [
            ["--rate", "0"], ["--expires", "tomorrow"], ["--expires", "2001-01-01"], ["--push-type", "telegram"],
            ["--topic", "com.example.other"], ["--priority", "7"], ["--daily", "-1"],
        ])
    func `A wrong limit is refused`(_ options: [String]) async throws {
        try await withTemporaryFolder { folder in
            let service = try CarillonProcess.current
            let made = try await BuiltCommand.run(
                ["grant", "create", "--data", service.data, "--bundle-id", bundleID, "--name", "x", "--out", folder]
                    + options)
            #expect(made.status != 0)
            // No key file is left of a grant that was not made.
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".p8") } == [])
        }
    }
}

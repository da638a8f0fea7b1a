import Crypto
import Foundation
import NIOHTTP1
import Notifications
import Storage
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// Apps and their credentials, over the wire.
@Suite(.timeLimit(.minutes(3))) struct AppTests {
    @Test func `Keys are shown once, and are nowhere on the disk in the clear`() async throws {
        try await TestProvider.withFolder { folder in
            var secrets: [String] = []
            try await TestShop.run(devices: [], folder: folder) { shop in
                let fixture = P256.Signing.PrivateKey().pemRepresentation
                let document = TestShop.other(key: fixture)
                let made = try await shop.provider.ask(.PUT, "/v1/apps/com.example.other", document)
                #expect(made.status == 201)
                // The middle of the key's Base64, which JSON does not change.
                let key = fixture.split(separator: "\n").filter { !$0.contains("-") }.joined()
                secrets = [String(key.prefix(60)), try made.text("clientKey"), try made.text("serverKey")]
                for path in ["/v1/apps", "/v1/apps/com.example.other"] {
                    let shown = try await shop.provider.ask(.GET, path)
                    #expect(shown.status == 200 && shown.body.text.contains("KEY7654321"))
                    for secret in secrets { #expect(!shown.body.text.contains(secret.prefix(30))) }
                }
                // The same app again keeps its keys, and does not show them.
                let again = try await shop.provider.ask(.PUT, "/v1/apps/com.example.other", document)
                #expect(again.status == 200 && again["clientKey"] == nil && again["serverKey"] == nil)
            }
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
                let data = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))
                for secret in secrets { #expect(data.range(of: Data(secret.prefix(30).utf8)) == nil, "\(name)") }
                let mode = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)[.posixPermissions]
                #expect((mode as? NSNumber)?.intValue == 0o600, "\(name)")
            }
        }
    }

    @Test func `An app is changed without its credentials, which belong to its team`() async throws {
        try await TestShop.run(devices: []) { shop in
            let path = "/v1/apps/\(TestShop.bundleID)"
            let moved = try await shop.provider.ask(
                .PUT, path, #"{"teamID":"ABCDE12345","environments":{"development":{"url":"https://127.0.0.1:9"}}}"#)
            #expect(moved.status == 200)
            #expect(moved["environments", "development", "keyID"] == "KEY1234567")
            let stolen = try await shop.provider.ask(
                .PUT, path, #"{"teamID":"ZZZZZZZZZZ","environments":{"development":{"url":"https://127.0.0.1:9"}}}"#)
            #expect(stolen.status == 400 && stolen.pointer == "/environments/development")
        }
    }

    @Test func `An authority that is no certificate is refused also if the credentials stay`() async throws {
        try await TestShop.run(devices: []) { shop in
            let answer = try await shop.provider.ask(
                .PUT, "/v1/apps/\(TestShop.bundleID)",
                #"{"teamID":"ABCDE12345","environments":{"development":{"authority":"x"}}}"#)
            #expect(answer.status == 400 && answer.pointer == "/environments/development/authority")
        }
    }

    private static let faults = [
        (#"{}"#, ""),
        (#"{"teamID":"a team","environments":{}}"#, "/teamID"),
        (#"{"teamID":"ABCDE12345","environments":{}}"#, "/environments"),
        (#"{"teamID":"ABCDE12345","environments":{"sandbox":{}}}"#, "/environments/sandbox"),
        (#"{"teamID":"ABCDE12345","environments":{"production":{}}}"#, "/environments/production"),
        (
            #"{"teamID":"ABCDE12345","environments":{"production":{"url":"http://x","certificate":"x"}}}"#,
            "/environments/production/url"
        ),
        (
            #"{"teamID":"ABCDE12345","environments":{"production":{"url":"https://u:secret@x","certificate":"x"}}}"#,
            "/environments/production/url"
        ),
        (
            #"{"teamID":"ABCDE12345","environments":{"production":{"url":"https://x/3/device","certificate":"x"}}}"#,
            "/environments/production/url"
        ),
        (
            #"{"teamID":"ABCDE12345","environments":{"production":{"feedback":"https://u@x:2196","certificate":"x"}}}"#,
            "/environments/production/feedback"
        ),
        (
            #"{"teamID":"ABCDE12345","environments":{"production":{"channels":"https://x/1/apps","certificate":"x"}}}"#,
            "/environments/production/channels"
        ),
        (
            #"{"teamID":"ABCDE12345","environments":{"production":{"certificate":"x"}}}"#,
            "/environments/production/certificate"
        ),
        (
            #"{"teamID":"ABCDE12345","environments":{"production":{"key":{"keyID":"KEY1234567","privateKey":"x"}}}}"#,
            "/environments/production/key/privateKey"
        ),
        (
            #"{"teamID":"ABCDE12345","environments":{"production":{"key":{"keyID":"a key","privateKey":"x"}}}}"#,
            "/environments/production/key/keyID"
        ),
        (withAuthority, "/environments/production/authority"),
    ]

    /// An app whose key is fine, and whose certificates are not.
    private static let withAuthority: String = {
        let key: JSONValue = [
            "keyID": "KEY1234567", "privateKey": .string(P256.Signing.PrivateKey().pemRepresentation),
        ]
        let document: JSONValue = [
            "teamID": "ABCDE12345", "environments": ["production": ["authority": "x", "key": key]],
        ]
        return document.text
    }()

    @Test func `A fault has its place`() async throws {
        try await TestProvider.run { provider in
            for (body, pointer) in Self.faults {
                let answer = try await provider.ask(.PUT, "/v1/apps/com.example.app", body)
                #expect(answer.status == 400 && answer.pointer == pointer, "\(body): \(answer.body.text)")
            }
        }
    }

    @Test func `A key is replaced, and the old one ends`() async throws {
        try await TestShop.run(devices: []) { shop in
            let answer = try await shop.provider.ask(
                .POST, "/v1/apps/\(TestShop.bundleID)/keys", #"{"key":"server"}"#)
            let list = "/v1/installations"
            let refused = try await shop.provider.ask(.GET, list, key: shop.serverKey)
            #expect(refused.status == 401 && refused["title"] == "Unauthorized")
            #expect(try await shop.provider.ask(.GET, list, key: try answer.text("key")).status == 200)
        }
    }

    @Test func `A key does only what it is for`() async throws {
        try await TestShop.run(devices: []) { shop in
            let requests: [(key: String, path: String, status: Int)] = [
                (shop.clientKey, "/v1/apps", 403), (shop.serverKey, "/v1/apps", 403),
                (shop.clientKey, "/v1/messages", 403), (shop.clientKey, "/v1/installations", 403),
                ("", "/v1/messages", 401), (shop.serverKey, "/v1/nothing", 404), (shop.serverKey, "/v1/messages", 200),
            ]
            for (key, path, status) in requests {
                let answer = try await shop.provider.ask(.GET, path, key: key)
                #expect(answer.status == status, "\(path): \(answer.body.text)")
            }
            let message = #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}}}"#
            // Anybody can read the client key, so the server does not even read what is sent with it.
            for (method, path) in [(HTTPMethod.POST, "/v1/messages"), (.POST, "/v1/hooks"), (.PUT, "/v1/audiences/a")] {
                let answer = try await shop.provider.ask(method, path, "no JSON", key: shop.clientKey)
                #expect(answer.status == 403, "\(path): \(answer.body.text)")
            }
            // The administrator has to name the app.
            for (key, status) in [(shop.clientKey, 403), (shop.provider.administratorKey, 400)] {
                let answer = try await shop.provider.ask(.POST, "/v1/messages", message, key: key)
                #expect(answer.status == status, "\(answer.body.text)")
            }
        }
    }

    @Test func `Of keys that are replaced at the same time the last one is valid, also after a restart`() async throws {
        try await TestProvider.withFolder { folder in
            var keys: [String] = []
            func valid(_ provider: TestProvider) async throws -> [String] {
                var valid: [String] = []
                for key in keys where try await provider.ask(.GET, "/v1/messages", key: key).status == 200 {
                    valid.append(key)
                }
                return valid
            }
            let path = "/v1/apps/com.example.app"
            var before: [String] = []
            try await TestProvider.run(folder: folder) { provider in
                let made = try await provider.ask(.PUT, path, TestShop.other())
                keys.append(try made.text("serverKey"))
                let document: JSONValue = ["teamID": "ABCDE12345", "environments": ["development": [:]]]
                try await withThrowingTaskGroup(of: String?.self) { group in
                    for index in 0..<12 {
                        group.addTask {
                            if index % 2 == 0 {
                                try await provider.ask(.POST, path + "/keys", #"{"key":"server"}"#).text("key")
                            } else {
                                try await provider.ask(.PUT, path, document.text).status == 200 ? nil : "refused"
                            }
                        }
                    }
                    for try await key in group { if let key { keys.append(key) } }
                }
                #expect(keys.count == 7)
                before = try await valid(provider)
                #expect(before.count == 1 && before != [keys[0]])
            }
            try await TestProvider.run(folder: folder) { provider in
                let after = try await valid(provider)
                #expect(after == before)
            }
        }
    }

    @Test func `A second server on the same folder is refused`() async throws {
        try await TestProvider.run { provider in
            let error = await #expect(throws: StoreError.self) {
                try await TestProvider.run(folder: provider.folder) { _ in }
            }
            #expect(error?.cause.contains("Another provider server uses \(provider.folder)") == true)
        }
    }

    @Test func `A certificate that cannot be read is named`() async throws {
        try await TestProvider.withFolder { folder in
            let error = await #expect(throws: ProviderServerError.self) {
                try await TestProvider.run(folder: folder) {
                    $0.tls = ("/nowhere.pem", "/nowhere.key")
                } _: { _ in
                }
            }
            #expect(error?.cause.contains("/nowhere.pem") == true)
            #expect(!FileManager.default.fileExists(atPath: folder))
        }
    }

    @Test func `Without TLS it listens on loopback only`() async throws {
        try await TestProvider.withFolder { folder in
            let error = await #expect(throws: ProviderServerError.self) {
                try await TestProvider.run(folder: folder) {
                    $0.host = "0.0.0.0"
                } _: { _ in
                }
            }
            #expect(error?.code == .invalidSetting && error?.cause.contains("in the clear") == true)
        }
    }
}

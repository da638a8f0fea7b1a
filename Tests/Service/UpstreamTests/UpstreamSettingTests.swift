import Crypto
import Foundation
import Management
import ProviderTesting
import Service
import Testing

@testable import ServiceTesting

/// `PUT`, `GET` and `DELETE` of `/v1/apps/{bundleID}/upstreams/{environment}`.
@Suite(.timeLimit(.minutes(5))) struct UpstreamSettingTests {
    private static let path = "/v1/apps/com.example.app/upstreams/development"

    private static func document(_ more: String = "") -> String {
        let pem = P256.Signing.PrivateKey().pemRepresentation.replacing("\n", with: "\\n")
        return
            #"{"credentials":{"kind":"key","teamID":"PUBLISHER1","keyID":"GATEWAY001","privateKey":"\#(pem)"}\#(more)}"#
    }

    @Test func `An upstream is shown without its secrets, and survives a restart`() async throws {
        try await TestService.runTwice { test in
            let more = #","url":"https://127.0.0.1:9","proxy":"http://127.0.0.1:8","hold":"PT1H30M","compare":true"#
            let set = try await test.ask("PUT", Self.path, body: Self.document(more))
            #expect(set.status == 200, "\(set.text)")
            let shown = try await test.ask("GET", Self.path)
            #expect(set.text == shown.text)
            #expect(!shown.text.contains("PRIVATE"))
            let object = try #require(shown.problem)
            #expect(object["url"] as? String == "https://127.0.0.1:9")
            #expect(object["hold"] as? String == "PT90M")
            #expect((object["capture"] as? Bool, object["compare"] as? Bool) == (false, true))
            #expect(
                (object["credentials"] as? [String: String]) == [
                    "kind": "key", "teamID": "PUBLISHER1", "keyID": "GATEWAY001",
                ])
            return shown.text
        } _: { test, before in
            let shown = try await test.ask("GET", Self.path)
            #expect(shown.text == before)
            #expect(try await test.ask("DELETE", Self.path).text == before)
            #expect(try await test.ask("GET", Self.path).status == 404)
            #expect(try await test.ask("DELETE", Self.path).status == 404)
        }
    }

    @Test func `The database has no credentials in clear`() async throws {
        try await TestService.run { test in
            let key = P256.Signing.PrivateKey().pemRepresentation
            try await test.setUpstream(
                .init(credentials: .init(kind: "key", teamID: "PUBLISHER1", keyID: "GATEWAY001", privateKey: key)))
            let folder = URL(fileURLWithPath: test.service.folder.path)
            let secret = Data(key.split(separator: "\n")[1].utf8)
            for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
                guard let data = FileManager.default.contents(atPath: folder.path + "/" + name) else { continue }
                #expect(data.range(of: secret) == nil, "\(name)")
            }
        }
    }

    @Test func `Apple's service is the default, and credentials stay if none are given`() async throws {
        try await TestService.runInMemory { test in
            #expect(try await test.ask("PUT", Self.path, body: "{}").status == 400)
            #expect(try await test.ask("PUT", Self.path, body: Self.document()).status == 200)
            let kept = try await test.ask("PUT", Self.path, body: #"{"compare":true}"#)
            #expect(kept.status == 200)
            #expect(kept.problem?["url"] as? String == "https://api.development.push.apple.com")
            #expect(kept.text.contains("GATEWAY001"))
        }
    }

    @Test(arguments: [
        (#","url":"http://127.0.0.1:9""#, 400, "/url"), (#","url":"ftp://x""#, 400, "/url"),
        (#","url":"https://user:secret@127.0.0.1:9""#, 400, "/url"),
        (#","url":"https://127.0.0.1:9/3/device""#, 400, "/url"),
        (#","url":"https://127.0.0.1:9?a""#, 400, "/url"), (#","url":"https://127.0.0.1:9#a""#, 400, "/url"),
        (#","proxy":"127.0.0.1:9""#, 400, "/proxy"), (#","proxy":"http://user:secret@127.0.0.1:9""#, 400, "/proxy"),
        (#","hold":"P31D""#, 400, "/hold"), (#","hold":"soon""#, 400, "/hold"), (#","more":1"#, 400, "/more"),
        (#","authority":"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----""#, 400, "/authority"),
    ])
    func `A wrong setting is refused with its place`(more: String, status: Int, pointer: String) async throws {
        try await TestService.runInMemory { test in
            let answer = try await test.ask("PUT", Self.path, body: Self.document(more))
            #expect(answer.status == status, "\(answer.text)")
            #expect(answer.problem?["pointer"] as? String == pointer, "\(answer.text)")
            #expect(!answer.text.contains("secret"))
        }
    }

    @Test(arguments: [
        #"{"kind":"key"}"#,
        #"{"kind":"key","teamID":"PUBLISHER1","keyID":"GATEWAY001","privateKey":"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"}"#,
        #"{"kind":"passthrough","teamID":"PUBLISHER1"}"#, #"{"kind":"certificate"}"#,
    ])
    func `Wrong credentials are refused`(credentials: String) async throws {
        try await TestService.runInMemory { test in
            let answer = try await test.ask("PUT", Self.path, body: #"{"credentials":\#(credentials)}"#)
            #expect(answer.status == 400)
            #expect(answer.problem?["pointer"] as? String == "/credentials", "\(answer.text)")
        }
    }

    @Test func `Settings that exclude each other are refused`() async throws {
        try await TestService.runInMemory { test in
            for body in [
                #"{"credentials":{"kind":"passthrough"},"capture":true}"#,
                #"{"credentials":{"kind":"passthrough"},"hold":"PT1M"}"#,
            ] {
                #expect(try await test.ask("PUT", Self.path, body: body).status == 409)
            }
            let production = "/v1/apps/com.example.app/upstreams/production"
            let capture = try await test.ask("PUT", production, body: Self.document(#","capture":true"#))
            #expect(capture.status == 409)
            let missing = try await test.ask(
                "PUT", "/v1/apps/com.example.none/upstreams/production", body: Self.document())
            #expect(missing.status == 404, "\(missing.text)")
        }
    }
}

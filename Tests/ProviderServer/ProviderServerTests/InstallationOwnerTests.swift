import Foundation
import NIOHTTP1
import Notifications
import Rates
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// What belongs to the app and what to its backend, over the wire.
@Suite(.timeLimit(.minutes(3))) struct InstallationOwnerTests {
    private static let secret = ("installation-secret", "0123456789abcdef")
    private static let token = #""deviceToken":"00fc13","environment":"development""#
    private static let path = "/v1/installations/i1"

    /// Requests with the app's key.
    private struct AppSide {
        let shop: TestShop

        func ask(_ method: HTTPMethod, _ body: String) async throws -> TestProvider.Answer {
            try await shop.provider.ask(
                method, InstallationOwnerTests.path, body, key: shop.clientKey,
                headers: [InstallationOwnerTests.secret])
        }
    }

    /// Requests with the backend's key.
    private struct BackendSide {
        let shop: TestShop

        func ask(
            _ method: HTTPMethod,
            _ body: String? = nil,
            _ headers: [(String, String)] = [],
        ) async throws -> TestProvider.Answer {
            try await shop.provider.ask(
                method, InstallationOwnerTests.path, body, key: shop.serverKey, headers: headers)
        }
    }

    @Test func `Neither the app nor the backend erases what the other has set`() async throws {
        try await TestShop.run(devices: []) { shop in
            let (app, backend) = (AppSide(shop: shop), BackendSide(shop: shop))
            _ = try await app.ask(
                .PUT, #"{\#(Self.token),"appTags":["news"],"appValues":{"size":1},"tokens":{"voip":"0a"}}"#)
            _ = try await backend.ask(.PATCH, #"{"tags":["vip"],"values":{"points":5}}"#)
            // The next launch.
            let launched = try await app.ask(.PUT, #"{\#(Self.token),"appTags":["sport"],"tokens":{"voip":"0b"}}"#)
            #expect(launched["tags"] == ["vip"] && launched["appTags"] == ["sport"])
            #expect(launched["values"] == ["points": 5] && launched["appValues"] == nil)
            let put = try await backend.ask(.PUT, #"{\#(Self.token),"tags":["gold"]}"#)
            #expect(put["tags"] == ["gold"] && put["appTags"] == ["sport"] && put["tokens"] == ["voip": "0b"])
            // Both are in the audience.
            for tag in ["gold", "sport", "gold && sport"] {
                let answer = try await shop.provider.ask(
                    .POST, "/v1/messages",
                    #"{"dryRun":true,"audience":{"tags":"\#(tag)"},"payload":{"aps":{"alert":"x"}}}"#,
                    key: shop.serverKey)
                #expect(answer["recipients"] == 1, "\(tag)")
            }
            // An older app calls its tags `tags`.
            let older = try await app.ask(.PATCH, #"{"tags":["old"]}"#)
            #expect(older["appTags"] == ["old"] && older["tags"] == ["gold"])
            let bad = try await app.ask(.PATCH, #"{"tags":["o ld"]}"#)
            #expect(bad.status == 400 && bad.pointer == "/tags/0")
            let both = try await app.ask(.PATCH, #"{"tags":["a"],"appTags":["b"]}"#)
            #expect(both.status == 400 && both.pointer == "/tags")
        }
    }

    @Test func `Values of the backend come before those of the app`() async throws {
        try await TestShop.run(devices: []) { shop in
            let (app, backend) = (AppSide(shop: shop), BackendSide(shop: shop))
            _ = try await app.ask(.PUT, #"{\#(Self.token),"appValues":{"name":"app","city":"Ume\u00e5"}}"#)
            _ = try await backend.ask(.PATCH, #"{"values":{"name":"backend"}}"#)
            let answer = try await shop.provider.ask(
                .POST, "/v1/messages",
                #"{"dryRun":true,"audience":{"everybody":true},"payload":{"aps":{"alert":"{{name}} {{city}}"}}}"#,
                key: shop.serverKey)
            #expect(answer["samples", "0", "payload"] == ["aps": ["alert": "backend Ume\u{e5}"]])
        }
    }

    @Test func `A patch adds and removes single tags`() async throws {
        try await TestShop.run(devices: []) { shop in
            let backend = BackendSide(shop: shop)
            _ = try await backend.ask(.PUT, #"{\#(Self.token),"tags":["a","b"]}"#)
            let changed = try await backend.ask(.PATCH, #"{"tags":{"add":["c","a"],"remove":["b","x"]}}"#)
            #expect(changed["tags"] == ["a", "c"])
            #expect(try await backend.ask(.PATCH, #"{"appTags":{"add":["d"]}}"#)["appTags"] == ["d"])
            let many = (0...ProviderServerLimits.tags).map { "\"t\($0)\"" }.joined(separator: ",")
            let faults = [
                (#"{"tags":{"add":["b c"]}}"#, "/tags/add/0"), (#"{"tags":{"put":[]}}"#, "/tags/put"),
                (#"{"tags":{"add":["d"],"remove":"a"}}"#, "/tags/remove"),
                (#"{"tags":{"add":[\#(many)]}}"#, "/tags/add"),
            ]
            for (body, pointer) in faults {
                let answer = try await backend.ask(.PATCH, body)
                #expect(answer.status == 400 && answer.pointer == pointer, "\(answer.body.text)")
            }
        }
    }

    @Test func `A change with If-Match is made only if nobody has changed the installation since`() async throws {
        try await TestShop.run(devices: []) { shop in
            let backend = BackendSide(shop: shop)
            #expect(try await backend.ask(.PUT, "{\(Self.token)}", [("if-match", "*")]).status == 412)
            let new = try await backend.ask(.PUT, "{\(Self.token)}", [("if-none-match", "*")])
            let first = try #require(new.headers.first(name: "etag"))
            #expect(new.status == 200)
            #expect(try await backend.ask(.PUT, "{\(Self.token)}", [("if-none-match", "*")]).status == 412)
            #expect(try await backend.ask(.GET).headers.first(name: "etag") == first)
            let changed = try await backend.ask(
                .PATCH, #"{"tags":["a"]}"#, [("if-match", #""other", \#(first)"#)])
            let second = try #require(changed.headers.first(name: "etag"))
            #expect(changed.status == 200 && second != first)
            for method in [HTTPMethod.PATCH, .PUT, .DELETE] {
                let answer = try await backend.ask(
                    method, method == .DELETE ? nil : "{\(Self.token)}", [("if-match", first)])
                #expect(answer.status == 412, "\(method)")
            }
            #expect(try await backend.ask(.PATCH, "{}", [("if-match", "1")]).status == 400)
            #expect(try await backend.ask(.DELETE, nil, [("if-match", second)]).status == 204)
        }
    }

    @Test func `A backend may change an installation as often as it has to`() async throws {
        try await TestShop.run(devices: []) {
            $0.installationChanges = Rate(burst: 1, perSecond: 0.0001)
        } _: { shop in
            let backend = BackendSide(shop: shop)
            for (method, body) in [(HTTPMethod.PUT, "{\(Self.token)}"), (.PATCH, "{}")] {
                for _ in 0..<5 {
                    let status = try await backend.ask(method, body).status
                    #expect(status == 200, "\(method)")
                }
            }
            let status = try await backend.ask(.DELETE).status
            #expect(status == 204)
        }
    }
}

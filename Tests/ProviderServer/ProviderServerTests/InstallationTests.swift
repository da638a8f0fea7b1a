import HTTPAPI
import Foundation
import NIOHTTP1
import Rates
import Notifications
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// Installations, over the wire.
@Suite(.timeLimit(.minutes(3))) struct InstallationTests {
    private static let secret = ("installation-secret", "0123456789abcdef")
    private static let other = ("installation-secret", "fedcba9876543210")
    private static let token = #""deviceToken":"00FC13","environment":"development""#

    @Test func `An app registers, changes and deletes its installation`() async throws {
        try await TestShop.run(devices: []) { shop in
            let path = "/v1/installations/i1"
            func ask(_ method: HTTPMethodName, _ body: String? = nil) async throws -> TestProvider.Answer {
                try await shop.provider.ask(method.http, path, body, key: shop.clientKey, headers: [Self.secret])
            }
            let put = try await ask(
                .put, #"{\#(Self.token),"languages":["sv-SE","en"],"timeZone":"Europe/Stockholm","tags":["b","a","b"]}"#
            )
            #expect(put.status == 200)
            #expect(
                put["deviceToken"] == "00fc13" && put["appTags"] == ["a", "b"] && put["bundleID"] == "com.example.shop")
            // The same again is the same.
            #expect(try await ask(.put, #"{\#(Self.token),"tags":["a"]}"#)["languages"] == .array([]))
            let patched = try await ask(.patch, #"{"tags":["c"],"appVersion":"2","values":{"name":"Anna"}}"#)
            #expect(patched["appTags"] == ["c"] && patched["appValues", "name"] == "Anna")
            #expect(patched["tags"] == .array([]) && patched["values"] == nil)
            let shown = try await ask(.get)
            #expect(patched["registeredAt"] == shown["registeredAt"])
            let again = try await ask(.patch, #"{"appVersion":null,"values":{"name":null,"age":7}}"#)
            #expect(again["appVersion"] == nil && again["appValues"] == ["age": 7])
            #expect(try await ask(.delete).status == 204)
            #expect(try await ask(.get).status == 404)
        }
    }

    /// A method, without the HTTP library in each test.
    enum HTTPMethodName { case get, put, patch, delete }

    @Test func `Nobody reads or changes an installation without its secret`() async throws {
        try await TestShop.run(devices: []) { shop in
            let (provider, path, body) = (shop.provider, "/v1/installations/i1", "{\(Self.token)}")
            func status(_ method: HTTPMethodName, _ headers: [(String, String)], key: String? = nil) async throws -> Int
            {
                try await provider.ask(
                    method.http, path, method == .put || method == .patch ? body : nil, key: key ?? shop.clientKey,
                    headers: headers
                ).status
            }
            #expect(try await status(.put, []) == 401)
            #expect(try await status(.put, [("installation-secret", "short")]) == 401)
            #expect(try await status(.put, [Self.secret], key: "") == 401)
            #expect(try await status(.put, [Self.secret], key: "ck_unknown") == 401)
            #expect(try await status(.put, [Self.secret]) == 200)
            for method in [HTTPMethodName.put, .patch, .get, .delete] {
                #expect(try await status(method, [Self.other]) == 403)
                #expect(try await status(method, []) == 401)
            }
            // The key of another app does not find it.
            let app = try await provider.ask(
                .PUT, "/v1/apps/com.example.other", TestShop.other())
            #expect(try await status(.get, [Self.secret], key: try app.text("clientKey")) == 404)
            #expect(try await status(.get, [], key: try app.text("serverKey")) == 404)
            // The app's own backend may.
            #expect(try await status(.get, [], key: shop.serverKey) == 200)
        }
    }

    @Test func `Only the backend says who the user is, unless the app is trusted`() async throws {
        try await TestShop.run(devices: []) { shop in
            let path = "/v1/installations/i1"
            func put(_ user: String) async throws -> TestProvider.Answer {
                try await shop.provider.ask(
                    .PUT, path, #"{\#(Self.token),"user":"\#(user)"}"#, key: shop.clientKey, headers: [Self.secret])
            }
            let claimed = try await put("anna")
            #expect(claimed.status == 403 && claimed.pointer == "/user")
            _ = try await shop.provider.ask(
                .PUT, path, "{\(Self.token)}", key: shop.clientKey, headers: [Self.secret])
            let named = try await shop.provider.ask(.PATCH, path, #"{"user":"anna"}"#, key: shop.serverKey)
            #expect(named["user"] == "anna")
            // The app's next launch does not change it.
            let launched = try await shop.provider.ask(
                .PUT, path, "{\(Self.token)}", key: shop.clientKey, headers: [Self.secret])
            #expect(launched.status == 200 && launched["user"] == "anna")
            #expect(try await put("bob").status == 403)
        }
    }

    @Test func `A device token belongs to the installation that had it last`() async throws {
        try await TestShop.run(devices: []) { shop in
            for id in ["i1", "i2"] {
                _ = try await shop.provider.ask(.PUT, "/v1/installations/\(id)", "{\(Self.token)}", key: shop.serverKey)
            }
            let first = try await shop.provider.ask(.GET, "/v1/installations/i1", key: shop.serverKey)
            #expect(first["ended", "reason"] == "replaced")
            let second = try await shop.provider.ask(.GET, "/v1/installations/i2", key: shop.serverKey)
            #expect(second.status == 200 && second["ended"] == nil)
        }
    }

    @Test(arguments: ["%2E", "%2e%2E", "a%2Fb", "%C3%A9"])
    func `An identifier that paths cannot have is refused`(_ id: String) async throws {
        try await TestShop.run(devices: []) { shop in
            let answer = try await shop.provider.ask(
                .PUT, "/v1/installations/\(id)", "{\(Self.token)}", key: shop.serverKey)
            #expect(answer.status == 400, "\(answer.body.text)")
        }
        for id in [".", ".."] { #expect(!TextFormat.installation.allows(id) && !TextFormat.audienceName.allows(id)) }
        #expect(TextFormat.installation.allows("..."))
    }

    @Test(arguments: ["null", "[]", "{"])
    func `A body that is no object is named so`(_ body: String) async throws {
        try await TestShop.run(devices: []) { shop in
            let answer = try await shop.provider.ask(.PATCH, "/v1/installations/i", body, key: shop.serverKey)
            #expect(answer.status == 400)
            let fault = body == "{" ? "The body is not JSON" : "it has to be an object"
            #expect(try answer.text("detail").contains(fault), "\(answer.body.text)")
        }
    }

    @Test func `Whoever does not know the secret cannot use up what the owner may do`() async throws {
        try await TestShop.run(devices: []) {
            $0.installationChanges = Rate(burst: 3, perSecond: 0.0001)
        } _: { shop in
            func ask(_ method: HTTPMethodName, _ secret: (String, String)) async throws -> Int {
                try await shop.provider.ask(
                    method.http, "/v1/installations/i", method == .put ? "{\(Self.token)}" : nil, key: shop.clientKey,
                    headers: [secret]
                ).status
            }
            #expect(try await ask(.put, Self.secret) == 200)
            for method in [HTTPMethodName.put, .get] {
                for _ in 0..<3 { #expect(try await ask(method, Self.other) == 403) }
                #expect(try await ask(method, Self.other) == 429)
            }
            for status in [200, 200, 429] { #expect(try await ask(.put, Self.secret) == status) }
            for expected in [200, 200, 200, 429] {
                let status = try await ask(.get, Self.secret)
                #expect(status == expected)
            }
        }
    }

    @Test func `Copies of the app may only add so many installations`() async throws {
        try await TestShop.run(devices: []) {
            $0.newInstallations = Rate(burst: 2, perSecond: 0.0001)
        } _: { shop in
            func put(_ id: String, key: String? = nil) async throws -> Int {
                try await shop.provider.ask(
                    .PUT, "/v1/installations/\(id)", #"{"deviceToken":"0\#(id)","environment":"development"}"#,
                    key: key ?? shop.clientKey, headers: [Self.secret]
                ).status
            }
            for (id, status) in [("1", 200), ("1", 200), ("2", 200), ("3", 429), ("2", 200)] {
                #expect(try await put(id) == status, "\(id)")
            }
            // The backend may.
            let status = try await put("3", key: shop.serverKey)
            #expect(status == 200)
        }
    }

    private static let faults = [
        (#"{}"#, ""), (#"[]"#, ""), (#"{"#, ""),
        (#"{"deviceToken":"xyz"}"#, "/deviceToken"),
        (#"{"deviceToken":"00","token":1}"#, "/token"),
        (#"{"deviceToken":"00","environment":"sandbox"}"#, "/environment"),
        (#"{"deviceToken":"00","environment":"production"}"#, "/environment"),
        (#"{"deviceToken":"00","environment":"development","tags":["a","b c"]}"#, "/tags/1"),
        (#"{"deviceToken":"00","environment":"development","tags":"a"}"#, "/tags"),
        (#"{"deviceToken":"00","environment":"development","languages":["sv SE"]}"#, "/languages/0"),
        (#"{"deviceToken":"00","environment":"development","timeZone":"Europe/Atlantis"}"#, "/timeZone"),
        (#"{"deviceToken":"00","environment":"development","user":"a\u0000b"}"#, "/user"),
        (#"{"deviceToken":"00","environment":"development","user":""}"#, "/user"),
        (#"{"deviceToken":"00","environment":"development","values":{"a/b":1}}"#, "/values/a~1b"),
        (#"{"deviceToken":"00","environment":"development","values":{"a":[]}}"#, "/values/a"),
        (#"{"deviceToken":"00","environment":"development","appTags":["a b"]}"#, "/appTags/0"),
        (#"{"deviceToken":"00","environment":"development","appValues":{"a":[]}}"#, "/appValues/a"),
        (#"{"deviceToken":"00","environment":"development","tokens":{"voip":"x"}}"#, "/tokens/voip"),
        (#"{"deviceToken":"00","environment":"development","tokens":{"alert":"00"}}"#, "/tokens/alert"),
        (#"{"deviceToken":"00","environment":"development","activities":{"a b":"00"}}"#, "/activities/a b"),
        (#"{"deviceToken":"00","environment":"development","activities":{"a":"0"}}"#, "/activities/a"),
    ]

    @Test func `A fault has its place`() async throws {
        try await TestShop.run(devices: []) { shop in
            for (index, (body, pointer)) in Self.faults.enumerated() {
                let answer = try await shop.provider.ask(
                    .PUT, "/v1/installations/i\(index)", body, key: shop.serverKey)
                #expect(answer.status == 400 && answer.pointer == pointer, "\(body): \(answer.body.text)")
                #expect(answer.headers.first(name: "content-type") == "application/problem+json")
            }
        }
    }

    private static func list(_ count: Int) -> String {
        (0..<count).map { number in "\"t\(number)\"" }.joined(separator: ",")
    }

    private static func activities(_ count: Int) -> String {
        (0..<count).map { number in "\"a\(number)\":\"00\"" }.joined(separator: ",")
    }

    private static func object(_ count: Int) -> String {
        (0..<count).map { number in "\"v\(number)\":1" }.joined(separator: ",")
    }

    private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

    /// What a request has besides the device token, and the status that it gets.
    private static let sizes: [(more: String, status: Int)] = [
        (",\"tags\":[\(list(ProviderServerLimits.tags))]", 200),
        (",\"tags\":[\(list(ProviderServerLimits.tags + 1))]", 400),
        (",\"languages\":[\(list(ProviderServerLimits.languages))]", 200),
        (",\"languages\":[\(list(ProviderServerLimits.languages + 1))]", 400),
        (",\"values\":{\(object(ProviderServerLimits.values))}", 200),
        (",\"values\":{\(object(ProviderServerLimits.values + 1))}", 400),
        (",\"values\":{\"a\":\"\(text(ProviderServerLimits.valueBytes))\"}", 200),
        (",\"values\":{\"a\":\"\(text(ProviderServerLimits.valueBytes + 1))\"}", 400),
        (",\"activities\":{\(activities(ProviderServerLimits.activities))}", 200),
        (",\"activities\":{\(activities(ProviderServerLimits.activities + 1))}", 400),
        (",\"user\":\"\(text(ProviderServerLimits.nameBytes))\"", 200),
        (",\"user\":\"\(text(ProviderServerLimits.nameBytes + 1))\"", 400),
        (",\"user\":\"\(text(ProviderServerLimits.installationBytes))\"", 413),
    ]

    @Test func `Sizes are limited`() async throws {
        try await TestShop.run(devices: []) { shop in
            for (index, (more, status)) in Self.sizes.enumerated() {
                let answer = try await shop.provider.ask(
                    .PUT, "/v1/installations/i\(index)", "{\(Self.token)\(more)}", key: shop.serverKey)
                #expect(answer.status == status, "\(more.prefix(30)): \(answer.body.text)")
            }
            for (length, status) in [(0, 200), (1, 400)] {
                let id = Self.text(ProviderServerLimits.identifierBytes + length)
                let answer = try await shop.provider.ask(
                    .PUT, "/v1/installations/\(id)", "{\(Self.token)}", key: shop.serverKey)
                #expect(answer.status == status)
            }
        }
    }

    @Test func `An installation that changes too often is refused for a while`() async throws {
        try await TestShop.run(devices: []) { shop in
            func put(_ id: String) async throws -> Int {
                try await shop.provider.ask(
                    .PUT, "/v1/installations/\(id)", "{\(Self.token)}", key: shop.clientKey, headers: [Self.secret]
                ).status
            }
            let burst = ProviderServerLimits.installationChanges.burst
            for _ in 0..<burst { #expect(try await put("i1") == 200) }
            // On a slow machine some more are allowed meanwhile.
            var isRefused = false
            for _ in 0..<burst where !isRefused { isRefused = try await put("i1") == 429 }
            #expect(isRefused)
            // Others are not.
            #expect(try await put("i2") == 200)
        }
    }
}

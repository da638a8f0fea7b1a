import Foundation
import HTTPAPI
import InMemoryLogging
import Logging
import NIOHTTP1
import Notifications
import Synchronization
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// Users who authenticate by a token of the organisation's identity provider, over the wire.
@Suite(.timeLimit(.minutes(3))) struct IdentityTests {
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)
    private static let body = #"{"deviceToken":"00FC13","environment":"development"}"#
    private static let path = "/v1/installations/i1"
    private static let secret = ("installation-secret", "0123456789abcdef")

    /// A provider server with an app whose users come from an identity provider.
    private struct Setting {
        let provider: TestProvider
        let identity: TestIdentityProvider

        static func run(_ body: (Setting) async throws -> Void) async throws {
            try await TestProvider.withFolder { folder in
                try await TestProvider.run(folder: folder) {
                    $0.clock.now = { IdentityTests.now }
                } _: { provider in
                    let identity = try TestIdentityProvider(folder: folder)
                    try identity.write([TestIdentityProvider.secretKey, identity.rsaKey, identity.p256Key])
                    let setting = Setting(provider: provider, identity: identity)
                    let answer = try await setting.put("com.example.shop", identity.document)
                    try #require(answer.status == 201, "\(answer.body.text)")
                    try await body(setting)
                }
            }
        }

        func put(_ bundleID: String, _ identity: JSONValue, _ more: JSONValue = [:]) async throws -> TestProvider.Answer
        {
            let base = try JSONDecoder().decode(JSONValue.self, from: Data(TestShop.other().utf8))
            return try await provider.ask(
                .PUT, "/v1/apps/\(bundleID)", base.merging(["identity": identity]).merging(more).text)
        }

        /// Asks with a token of a user.
        func ask(
            _ method: HTTPMethod,
            _ body: String? = nil,
            as user: String,
            path: String = IdentityTests.path,
            secret: Bool = false,
        ) async throws -> TestProvider.Answer {
            let token = try identity.token(TestIdentityProvider.claims(user: user, at: IdentityTests.now))
            return try await provider.ask(
                method, path, body, key: token, headers: secret ? [IdentityTests.secret] : [])
        }

        /// The status of a request with these claims or this token.
        func status(
            _ claims: [String: JSONValue?], _ algorithm: String = "ES256", key: String? = "e1"
        ) async throws
            -> Int
        {
            var all = TestIdentityProvider.claims(user: "anna", at: IdentityTests.now)
            for (name, value) in claims { all[name] = value }
            return try await status(try identity.token(all, algorithm: algorithm, keyID: key))
        }

        func status(_ token: String) async throws -> Int {
            try await provider.ask(.PUT, IdentityTests.path, IdentityTests.body, key: token).status
        }
    }

    @Test func `A token says who the user is, and other users cannot read or change the installation`() async throws {
        try await Setting.run { setting in
            let put = try await setting.ask(.PUT, Self.body, as: "anna")
            #expect(put.status == 200 && put["user"] == "anna", "\(put.body.text)")
            #expect(try await setting.ask(.GET, as: "anna")["deviceToken"] == "00fc13")
            let patched = try await setting.ask(.PATCH, #"{"tags":["news"]}"#, as: "anna")
            #expect(patched["appTags"] == ["news"] && patched["user"] == "anna")
            // Another user, with and without a secret, and another device token.
            let other = #"{"deviceToken":"11","environment":"development"}"#
            for secret in [true, false] {
                #expect(try await setting.ask(.GET, as: "bob", secret: secret).status == 403)
                #expect(try await setting.ask(.PATCH, #"{"tags":[]}"#, as: "bob", secret: secret).status == 403)
                #expect(try await setting.ask(.PUT, other, as: "bob", secret: secret).status == 403)
                #expect(try await setting.ask(.DELETE, as: "bob", secret: secret).status == 403)
            }
            #expect(try await setting.ask(.GET, as: "anna")["appTags"] == ["news"])
            // Nobody claims to be somebody else, not even for an own installation.
            for (method, more) in [(HTTPMethod.PUT, #""deviceToken":"22","environment":"development","#), (.PATCH, "")]
            {
                let claimed = try await setting.ask(
                    method, #"{\#(more)"user":"bob"}"#, as: "anna")
                #expect(claimed.status == 403 && claimed.pointer == "/user")
            }
            #expect(try await setting.ask(.DELETE, as: "anna").status == 204)
            // A token registers installations, and does nothing else.
            #expect(try await setting.ask(.GET, as: "anna", path: "/v1/installations").status == 403)
            #expect(try await setting.ask(.GET, as: "anna", path: "/v1/messages/x").status == 403)
            #expect(try await setting.ask(.GET, as: "anna", path: "/v1/apps").status == 403)
        }
    }

    @Test func `Another user signs in on the same device`() async throws {
        try await Setting.run { setting in
            #expect(try await setting.ask(.PUT, Self.body, as: "anna", secret: true).status == 200)
            // The secret proves that it is the same installation. It does not show what belongs to the first user.
            #expect(try await setting.ask(.GET, as: "bob", secret: true).status == 403)
            let put = try await setting.ask(.PUT, Self.body, as: "bob", secret: true)
            #expect(put.status == 200 && put["user"] == "bob")
            #expect(try await setting.ask(.GET, as: "anna").status == 403)
            // Signing out leaves an installation without a user, and the next user takes it over.
            #expect(try await setting.ask(.PATCH, #"{"user":null}"#, as: "bob")["user"] == nil)
            #expect(try await setting.ask(.GET, as: "anna").status == 403)
            #expect(try await setting.ask(.PUT, Self.body, as: "anna", secret: true)["user"] == "anna")
        }
    }

    @Test func `Both algorithms are accepted, and every doubtful token is refused`() async throws {
        try await Setting.run { setting in
            let seconds = Int64(Self.now.seconds)
            let first = try await setting.status([:])
            #expect(first == 200)
            #expect(try await setting.status([:], key: nil) == 200)
            #expect(try await setting.status([:], "RS256", key: "r1") == 200)
            #expect(try await setting.status(["aud": ["other", "shop"], "nbf": .integer(seconds)]) == 200)
            #expect(try await setting.status(["exp": .number(Double(seconds) + 0.5)]) == 200)
            // Clocks may differ by a minute.
            #expect(try await setting.status(["exp": .integer(seconds - 59)]) == 200)
            #expect(try await setting.status(["exp": .integer(seconds - 60)]) == 401)
            #expect(try await setting.status(["nbf": .integer(seconds + 60)]) == 200)
            #expect(try await setting.status(["nbf": .integer(seconds + 61)]) == 401)
            let refused: [[String: JSONValue?]] = [
                ["exp": nil], ["exp": "soon"], ["nbf": "now"], ["iss": "https://evil.example"],
                ["iss": nil],
                ["aud": "other"], ["aud": nil], ["sub": nil], ["sub": ""], ["sub": "a\nb"],
                ["sub": .string(String(repeating: "a", count: ProviderServerLimits.nameBytes + 1))],
            ]
            for claims in refused { #expect(try await setting.status(claims) == 401, "\(claims)") }
            // Algorithms that are not accepted, and keys that are not of the algorithm or not there.
            for (algorithm, key) in [
                ("none", "e1"), ("HS256", "e1"), ("HS256", "h1"), ("PS256", "r1"), ("ES256", "r1"), ("RS256", "e1"),
                ("ES256", "e2"),
            ] {
                #expect(try await setting.status([:], algorithm, key: key) == 401, "\(algorithm) \(key)")
            }
        }
    }

    @Test func `A token that was changed or is too long is refused`() async throws {
        try await Setting.run { setting in
            let claims = TestIdentityProvider.claims(user: "anna", at: Self.now)
            let token = try setting.identity.token(claims)
            let parts = token.split(separator: ".")
            var other = claims
            other["sub"] = "bob"
            let text = TestIdentityProvider.encoded(Data(JSONValue.object(other).text.utf8))
            for bad in [
                "\(parts[0]).\(text).\(parts[2])", "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1])", token + ".x",
                "..", "a.b.c", token + "=", token.replacing(".", with: "/."),
            ] {
                #expect(try await setting.status(bad) == 401, "\(bad)")
            }
            let critical = try setting.identity.signed(
                ["alg": "ES256", "kid": "e1", "crit": ["x"], "x": 1], .object(claims), algorithm: "ES256")
            #expect(try await setting.status(critical) == 401)
            // The size, signed correctly.
            let size = { (count: Int) in
                ["x": JSONValue.string(String(repeating: "a", count: count))] as [String: JSONValue?]
            }
            let limit = ProviderServerLimits.identityTokenBytes
            #expect(try await setting.status(size(limit * 3 / 4 - 400)) == 200)
            #expect(try await setting.status(size(limit * 3 / 4)) == 401)
        }
    }

    @Test func `The file of keys is read again when it has changed`() async throws {
        try await Setting.run { setting in
            let identity = setting.identity
            #expect(try await setting.status([:]) == 200)
            try identity.write([identity.rsaKey])
            #expect(try await setting.status([:]) == 401)
            #expect(try await setting.status([:], "RS256", key: "r1") == 200)
            // Two keys for one algorithm: the token has to say which.
            try identity.write([identity.rsaKey, identity.p256Key, identity.p256Key.merging(["kid": "e2"])])
            #expect(try await setting.status([:], key: nil) == 401)
            #expect(try await setting.status([:], key: "e2") == 200)
            // A key for encryption, or of another algorithm, signs nothing.
            for change in [["use": "enc"], ["alg": "ES512"], ["crv": "P-384"]] as [JSONValue] {
                try identity.write([identity.rsaKey, identity.p256Key.merging(change)])
                #expect(try await setting.status([:]) == 401, "\(change.text)")
            }
            // A file that cannot be read accepts nobody.
            for text in ["{", "[]", #"{"keys":[]}"#, String(repeating: " ", count: 1 << 20)] {
                try Data(text.utf8).write(to: URL(fileURLWithPath: identity.file), options: .atomic)
                #expect(try await setting.status([:]) == 503, "\(text.prefix(20))")
            }
            try FileManager.default.removeItem(atPath: identity.file)
            #expect(try await setting.status([:]) == 503)
            try identity.write([identity.p256Key])
            #expect(try await setting.status([:]) == 200)
        }
    }

    @Test func `A missing file of keys is logged once, and not for each request`() async throws {
        try await TestProvider.withFolder { folder in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let identity = try TestIdentityProvider(folder: folder)
            let log = InMemoryLogHandler()
            let files = IdentityKeyFiles(logger: Logger(label: "test") { _ in log })
            for round in 1...2 {
                try? FileManager.default.removeItem(atPath: identity.file)
                for _ in 0..<3 { #expect(throws: Problem.self) { try files.keysForRequest(identity.file) } }
                #expect(log.entries.count { $0.level == .error } == round)
                try identity.write([identity.p256Key])
                for _ in 0..<3 { _ = try files.keysForRequest(identity.file) }
                #expect(log.entries.count { $0.level == .info } == round)
            }
        }
    }

    @Test func `Several apps may have one identity provider`() async throws {
        try await Setting.run { setting in
            #expect(try await setting.put("com.example.two", setting.identity.document).status == 201)
            let unclear = try await setting.ask(.PUT, Self.body, as: "anna")
            #expect(unclear.status == 400 && unclear.pointer == "/bundleID")
            let query = Self.path + "?bundleID=com.example.two"
            #expect(try await setting.ask(.PUT, Self.body, as: "anna", path: query)["bundleID"] == "com.example.two")
            let named = try await setting.ask(
                .PUT, #"{"deviceToken":"00","environment":"development","bundleID":"com.example.shop"}"#, as: "anna")
            #expect(named.status == 200 && named["bundleID"] == "com.example.shop")
            let wrong = try await setting.ask(.GET, as: "anna", path: Self.path + "?bundleID=com.example.three")
            #expect(wrong.status == 403 && wrong.pointer == "/bundleID")
        }
    }

    @Test func `The settings of an identity provider are checked and shown`() async throws {
        try await Setting.run { setting in
            let app = try await setting.provider.ask(.GET, "/v1/apps/com.example.shop")
            #expect(app["identity", "issuer"] == .string(TestIdentityProvider.issuer))
            let faults: [(JSONValue, String)] = [
                (["issuer": .null], "/identity"), (["audience": ""], "/identity/audience"),
                (["keysFile": "jwks.json"], "/identity/keysFile"),
                (["keysFile": "/nowhere.json"], "/identity/keysFile"),
                (["keys": []], "/identity/keys"),
            ]
            for (change, pointer) in faults {
                let answer = try await setting.put("com.example.shop", setting.identity.document.merging(change))
                #expect(answer.status == 400 && answer.pointer == pointer, "\(answer.body.text)")
            }
            let both = try await setting.put(
                "com.example.shop", setting.identity.document, ["acceptsClaimedUsers": true])
            #expect(both.status == 400 && both.pointer == "/acceptsClaimedUsers")
            // Without it, tokens are no longer accepted.
            #expect(try await setting.put("com.example.shop", .null).status == 200)
            #expect(try await setting.status([:]) == 401)
        }
    }
}

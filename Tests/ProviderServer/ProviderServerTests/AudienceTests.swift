import CommonTesting
import Foundation
import NIOHTTP1
import Notifications
import CampaignStore
import Service
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// Saved audiences, over the wire.
@Suite(.timeLimit(.minutes(3))) struct AudienceTests {
    private static func put(_ shop: TestShop, _ name: String, _ body: String) async throws -> TestProvider.Answer {
        try await shop.provider.ask(.PUT, "/v1/audiences/\(name)", body, key: shop.serverKey)
    }

    @Test func `An audience is saved, listed, shown with its size, used and deleted`() async throws {
        try await TestShop.run(devices: [nil, nil, nil]) { shop in
            let (provider, key) = (shop.provider, shop.serverKey)
            try await shop.register { [#","tags":["news"]"#, #","tags":["news","muted"]"#, ""][$0] }
            let made = try await Self.put(shop, "readers", #"{"tags":"news && !muted"}"#)
            #expect(made.status == 201 && made["recipients"] == 1 && made["name"] == "readers", "\(made.body.text)")
            #expect(
                try await Self.put(shop, "all", #"{"everybody":true,"bundleID":"com.example.shop"}"#)["recipients"] == 3
            )
            let replaced = try await Self.put(shop, "readers", #"{"tags":"news"}"#)
            #expect(replaced.status == 200 && replaced["recipients"] == 2)
            let list = try await provider.ask(.GET, "/v1/audiences", key: key)
            #expect(list["items", "0", "name"] == "all" && list["items", "0", "audience"] == ["everybody": true])
            #expect(list["items", "1", "name"] == "readers" && list["items", "2"] == nil)
            // A dry run counts, with a further condition.
            func count(_ audience: String) async throws -> JSONValue? {
                try await provider.ask(
                    .POST, "/v1/messages",
                    #"{"dryRun":true,"audience":\#(audience),"payload":{"aps":{"alert":"Hello"}}}"#, key: key)[
                        "recipients"]
            }
            #expect(try await count(#"{"saved":"readers"}"#) == 2)
            #expect(try await count(#"{"saved":"readers","tags":"muted"}"#) == 1)
            let message = try await provider.finished(
                try await shop.send(audience: #"{"saved":"readers","tags":"!muted"}"#))
            #expect(message["accepted"] == 1)
            #expect(try await shop.received().map(\.token) == [shop.tokens[0]])
            #expect(try await provider.ask(.DELETE, "/v1/audiences/readers", key: key).status == 204)
            #expect(try await provider.ask(.DELETE, "/v1/audiences/readers", key: key).status == 404)
            #expect(try await provider.ask(.GET, "/v1/audiences/readers", key: key).status == 404)
        }
    }

    @Test func `A message keeps the audience that it was accepted with`() async throws {
        let (now, later) = (Timestamp(milliseconds: 1_800_000_000_000), Timestamp(milliseconds: 1_800_003_600_000))
        try await TestService.runInMemory { carillon in
            let (document, tokens) = try await TestShop.makeFixture(carillon, [nil, nil])
            func makeShop(_ provider: TestProvider, _ key: String) -> TestShop {
                TestShop(carillon: carillon, provider: provider, tokens: tokens, clientKey: "", serverKey: key)
            }
            try await TestProvider.withFolder { folder in
                var id = ""
                try await TestProvider.run(folder: folder) {
                    $0.clock.now = { now }
                } _: { provider in
                    let app = try await provider.ask(.PUT, "/v1/apps/\(TestShop.bundleID)", document)
                    let shop = try makeShop(provider, app.text("serverKey"))
                    try await shop.register { [#","tags":["a"]"#, #","tags":["b"]"#][$0] }
                    _ = try await Self.put(shop, "chosen", #"{"tags":"a"}"#)
                    id = try await shop.send(
                        audience: #"{"saved":"chosen"}"#, #","sendAt":"\#(later.text)""#)
                    _ = try await Self.put(shop, "chosen", #"{"tags":"b"}"#)
                    _ = try await provider.ask(.DELETE, "/v1/audiences/chosen", key: shop.serverKey)
                }
                try await TestProvider.run(folder: folder) {
                    $0.clock.now = { later }
                } _: { provider in
                    let message = try await provider.finished(id)
                    let received = try await makeShop(provider, "").received()
                    #expect(message["accepted"] == 1 && received.map(\.token) == [tokens[0]])
                }
            }
        }
    }

    /// Saves an audience for the folder's first app without a server. It is a function because the folder is locked as long
    /// as its store exists.
    private static func save(_ document: String, as name: String, in folder: String) async throws {
        let store = try SQLiteCampaignStore(folder: folder, now: ProviderClock.system.now)
        try await withCleanUp {
            let audience = SavedAudience(
                name: name, app: try #require(try await store.apps().first).number, document: Array(document.utf8),
                changed: ProviderClock.system.now())
            _ = try await store.put(audience, limit: 1)
        } cleanUp: {
            await store.close()
        }
    }

    /// Version 0.2 accepted dates that do not exist.
    @Test func `A stored audience may have a date that does not exist`() async throws {
        try await TestProvider.withFolder { folder in
            try await TestProvider.run(folder: folder) { provider in
                let app = try await provider.ask(.PUT, "/v1/apps/com.example.other", TestShop.other())
                try #require(app.status == 201, "\(app.body.text)")
            }
            try await Self.save(#"{"where":"registered < 2027-02-30T09:00:00Z"}"#, as: "old", in: folder)
            try await TestProvider.run(folder: folder) { provider in
                let shown = try await provider.ask(.GET, "/v1/audiences/old?bundleID=com.example.other")
                #expect(shown.status == 200 && shown["recipients"] == 0, "\(shown.body.text)")
                let message: JSONValue = [
                    "bundleID": "com.example.other", "dryRun": true, "audience": ["saved": "old"],
                    "payload": ["aps": ["alert": "x"]],
                ]
                let counted = try await provider.ask(.POST, "/v1/messages", message.text)
                #expect(counted.status == 200 && counted["recipients"] == 0, "\(counted.body.text)")
            }
        }
    }

    @Test func `An app has only its own audiences, and devices have none`() async throws {
        try await TestShop.run(devices: []) { shop in
            _ = try await Self.put(shop, "mine", #"{"everybody":true}"#)
            let app = try await shop.provider.ask(.PUT, "/v1/apps/com.example.other", TestShop.other())
            let other = try app.text("serverKey")
            #expect(try await shop.provider.ask(.GET, "/v1/audiences/mine", key: other).status == 404)
            #expect(try await shop.provider.ask(.DELETE, "/v1/audiences/mine", key: other).status == 404)
            #expect(try await shop.provider.ask(.GET, "/v1/audiences", key: other)["items"] == .array([]))
            let stolen = try await shop.provider.ask(
                .POST, "/v1/messages", #"{"audience":{"saved":"mine"},"payload":{"aps":{"alert":"x"}}}"#, key: other)
            #expect(stolen.status == 400 && stolen.pointer == "/audience/saved")
            #expect(try await shop.provider.ask(.GET, "/v1/audiences/mine", key: shop.clientKey).status == 403)
            // The administrator names the app.
            #expect(try await shop.provider.ask(.GET, "/v1/audiences").pointer == "/bundleID")
            let path = "/v1/audiences/mine?bundleID=com.example.shop"
            #expect(try await shop.provider.ask(.GET, path)["recipients"] == 0)
        }
    }

    private static let faults = [
        ("{}", ""), (#"{"bundleID":"com.example.shop"}"#, ""), (#"{"tags":"a &"}"#, "/tags"),
        (#"{"where":"registered < 2027-02-30"}"#, "/where"),
        (#"{"everybody":false}"#, "/everybody"), (#"{"users":[1]}"#, "/users/0"), (#"{"saved":"x"}"#, "/saved"),
        (#"{"environment":"production"}"#, "/environment"), (#"{"language":"s v"}"#, "/language"),
        (#"{"bundleID":7,"everybody":true}"#, "/bundleID"), ("[]", ""), ("{", ""),
    ]

    @Test func `Faults have their place, and numbers and sizes are limited`() async throws {
        try await TestShop.run(devices: []) { shop in
            for (body, pointer) in Self.faults {
                let answer = try await Self.put(shop, "a", body)
                #expect(answer.status == 400 && answer.pointer == pointer, "\(body): \(answer.body.text)")
            }
            #expect(try await Self.put(shop, "a%20b", #"{"everybody":true}"#).status == 400)
            let name = String(repeating: "a", count: ProviderServerLimits.audienceNameBytes)
            #expect(try await Self.put(shop, name + "a", #"{"everybody":true}"#).status == 400)
            #expect(try await Self.put(shop, name, #"{"everybody":true}"#).status == 201)
            let large = String(repeating: " ", count: ProviderServerLimits.audienceBytes)
            #expect(try await Self.put(shop, "b", #"{"everybody":true}"# + large).status == 413)
            for index in 1..<ProviderServerLimits.savedAudiences {
                #expect(try await Self.put(shop, "n\(index)", #"{"everybody":true}"#).status == 201)
            }
            #expect(try await Self.put(shop, "more", #"{"everybody":true}"#).status == 409)
            // One that is there can still be changed.
            #expect(try await Self.put(shop, "n1", #"{"tags":"a"}"#).status == 200)
            // A message cannot bring its own conditions as a saved audience.
            let own = try await shop.provider.ask(
                .POST, "/v1/messages", #"{"audience":{"saved":{"tags":"a"}},"payload":{"aps":{"alert":"x"}}}"#,
                key: shop.serverKey)
            #expect(own.status == 400 && own.pointer == "/audience/saved")
        }
    }

    @Test func `Two audiences together have the recipients of both`() {
        var (one, other) = (Audience(), Audience())
        one.users = ["a", "b"]
        other.users = ["b", "c"]
        other.installations = ["i"]
        #expect(one.narrowed(by: other).users == ["b"] && one.narrowed(by: other).installations == ["i"])
        (one, other) = (Audience(), Audience())
        one.expression = .condition(.tag("a"))
        other.expression = .condition(.tag("b"))
        #expect(one.narrowed(by: other).expression == .and(.condition(.tag("a")), .condition(.tag("b"))))
        #expect(Audience().narrowed(by: other) == other && other.narrowed(by: Audience()) == other)
        func languages(_ first: String, _ second: String) -> Audience {
            var (one, other) = (Audience(), Audience())
            one.language = first
            other.language = second
            return one.narrowed(by: other)
        }
        #expect(languages("pt", "pt-br").language == "pt-br" && languages("pt-br", "pt").language == "pt-br")
        #expect(languages("pt", "pt").installations == nil)
        #expect(languages("pt", "ptx").installations == [] && languages("sv", "en").installations == [])
        // Some systems write underscores, and some a name that the language had before.
        #expect(languages("pt_BR", "pt").language == "pt_BR" && languages("pt_BR", "pt").installations == nil)
        #expect(languages("he", "iw-IL").language == "iw-IL" && languages("he", "iw-IL").installations == nil)
        (one, other) = (Audience(), Audience())
        one.environment = .development
        other.environment = .production
        #expect(one.narrowed(by: other).installations == [])
        #expect(one.narrowed(by: Audience()).environment == .development)
    }
}

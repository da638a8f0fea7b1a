import Foundation
import HTTPAPI
import NIOHTTP1
import Notifications
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// A badge that counts: the number on the app's icon grows with each message.
@Suite(.timeLimit(.minutes(3))) struct BadgeTests {
    private static func badge(_ payload: JSONValue?) -> JSONValue? {
        guard case .object(let members)? = payload, case .object(let aps)? = members["aps"] else { return nil }
        return aps["badge"]
    }

    private static func send(_ shop: TestShop, _ badge: String) async throws {
        let id = try await shop.send(payload: #"{"aps":{"alert":"x","badge":"\#(badge)"}}"#)
        #expect(try await shop.provider.finished(id)["state"] == "finished")
    }

    private static func stored(_ shop: TestShop, _ index: Int = 0) async throws -> JSONValue? {
        try await shop.provider.ask(.GET, "/v1/installations/i\(index)", key: shop.serverKey)["badge"]
    }

    @Test func `Each message counts on from the number before, for each installation`() async throws {
        try await TestShop.run(devices: [nil, nil]) { shop in
            try await shop.register { $0 == 0 ? "" : #","badge":7"# }
            try await Self.send(shop, "+1")
            try await Self.send(shop, "+10")
            try await Self.send(shop, "-2")
            let received = try await shop.received()
            for (index, expected) in [(0, [1, 11, 9]), (1, [8, 18, 16])] as [(Int, [JSONValue])] {
                let badges = received.filter { $0.token == shop.tokens[index] }.compactMap { Self.badge($0.payload) }
                #expect(badges == expected)
            }
            #expect(try await Self.stored(shop) == 9)
            #expect(try await Self.stored(shop, 1) == 16)
        }
    }

    @Test func `The app sets the number, and a PUT that does not name it leaves it as it is`() async throws {
        try await TestShop.run(devices: [nil]) { shop in
            try await shop.register()
            try await Self.send(shop, "+3")
            try await shop.register()
            #expect(try await Self.stored(shop) == 3)
            let patched = try await shop.provider.ask(
                .PATCH, "/v1/installations/i0", #"{"badge":0}"#, key: shop.serverKey)
            #expect(patched.status == 200 && patched["badge"] == nil)
            try await Self.send(shop, "-1")
            try await Self.send(shop, "+1")
            #expect(try await shop.received().map { Self.badge($0.payload) } == [3, 0, 1])
        }
    }

    @Test func `A message that the service refuses does not count`() async throws {
        try await TestShop.run(devices: [#"{"kind":"removed"}"#]) { shop in
            try await shop.register()
            try await Self.send(shop, "+1")
            #expect(try await Self.stored(shop) == nil)
        }
    }

    @Test func `A number alone is sent as it is, and a dry run shows what would be sent`() async throws {
        try await TestShop.run(devices: [nil]) { shop in
            try await shop.register(0, #","badge":4"#)
            func sample(_ badge: String) async throws -> JSONValue? {
                let answer = try await shop.provider.ask(
                    .POST, "/v1/messages",
                    #"{"audience":{"everybody":true},"payload":{"aps":{"badge":\#(badge)}},"dryRun":true}"#,
                    key: shop.serverKey)
                return Self.badge(answer["samples", "0", "payload"])
            }
            #expect(try await sample("2") == 2)
            #expect(try await sample(#""+1""#) == 5)
            #expect(try await Self.stored(shop) == 4)
        }
    }

    @Test(arguments: ["+0", "-0", "+1001", "-1001", "+", "+x", "+1.5", "+ 1"])
    func `What does not count is refused at its place`(_ badge: String) throws {
        let message: JSONValue = [
            "audience": ["everybody": true], "payload": ["aps": ["badge": .string(badge)]],
        ]
        let problem = #expect(throws: Problem.self) { try MessageDefinition(message) }
        #expect(problem?.pointer == "/payload/aps/badge")
    }

    @Test func `Other texts that begin with a sign are no badge`() throws {
        let message: JSONValue = [
            "audience": ["everybody": true], "payload": ["aps": ["alert": "+1"], "badge": "+1", "x": ["badge": "+x"]],
        ]
        #expect(try MessageDefinition(message).template.badgeChange == 0)
    }
}

import Crypto
import Delivery
import Foundation
import Logging
import Management
import NIOHTTP1
import Notifications
import Rates
import Service
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// An app with virtual devices in a Carillon, and the same app in a provider server.
struct TestShop: Sendable {
    static let bundleID = "com.example.shop"

    let carillon: TestService
    let provider: TestProvider
    /// The device tokens, in the order of the devices.
    let tokens: [String]
    let clientKey: String
    let serverKey: String
    /// The key with which the provider server signs, in PEM.
    var signingKey = ""

    /// - Parameter behaviours: one for each device; nil for one that acknowledges at once.
    static func run(
        devices behaviours: [String?],
        folder: String? = nil,
        logger: Logger = TestProvider.silentLogger,
        _ change: (inout ProviderServer.Settings) -> Void = { _ in },
        _ body: (TestShop) async throws -> Void,
    ) async throws {
        try await TestService.run {
            $0.store = .memory
            $0.delivery.requestsPerDeviceToken = .unlimited
        } _: { carillon in
            let (document, tokens) = try await makeFixture(carillon, behaviours)
            try await TestProvider.run(folder: folder, logger: logger, change) { provider in
                let app = try await provider.ask(.PUT, "/v1/apps/\(bundleID)", document)
                try #require(app.status == 201, "\(app.body.text)")
                try await body(
                    TestShop(
                        carillon: carillon, provider: provider, tokens: tokens, clientKey: app.text("clientKey"),
                        serverKey: app.text("serverKey"), signingKey: Self.signingKey(in: document)))
            }
        }
    }

    private static func signingKey(in document: String) throws -> String {
        let value = try JSONDecoder().decode(JSONValue.self, from: Data(document.utf8))
        guard case .object(let app) = value, case .object(let environments)? = app["environments"],
            case .object(let place)? = environments["development"], case .object(let key)? = place["key"],
            case .string(let text)? = key["privateKey"]
        else { return try #require(nil) }
        return text
    }

    /// - Returns: The document that makes the app in the provider server, and the device tokens.
    static func makeFixture(_ carillon: TestService, _ behaviours: [String?]) async throws -> (String, [String]) {
        let devices = behaviours.map { $0.map { #"{"behaviour":\#($0)}"# } ?? "{}" }.joined(separator: ",")
        let answer = try await carillon.ask(
            "POST", "/v1/fixtures",
            body: """
                {"teams":[{"teamID":"ABCDE12345","name":"Shop","apps":["\(bundleID)"],"keys":[{"keyID":"KEY1234567"}],
                "devices":[\(devices)]}]}
                """)
        try #require(answer.status == 200, "\(answer.text)")
        let fixture = try JSONDecoder().decode(ManagementMessages.Fixture.self, from: answer.body)
        let team = try #require(fixture.teams?.first)
        let tokens = try (team.devices ?? []).map { try #require($0.tokens?[bundleID]) }
        let key = try #require(team.keys?.first?.privateKey)
        let authority = try String(contentsOfFile: carillon.description.ca, encoding: .utf8)
        let document: JSONValue = [
            "teamID": "ABCDE12345",
            "environments": [
                "development": [
                    "url": .string("https://127.0.0.1:\(try carillon.port(\.provider))"),
                    "authority": .string(authority),
                    "key": ["keyID": "KEY1234567", "privateKey": .string(key)],
                ]
            ],
        ]
        return (document.text, tokens)
    }

    /// The document of another app.
    static func other(key: String = P256.Signing.PrivateKey().pemRepresentation) -> String {
        let document: JSONValue = [
            "teamID": "ABCDE12345",
            "environments": [
                "development": [
                    "url": "https://127.0.0.1:1", "key": ["keyID": "KEY7654321", "privateKey": .string(key)],
                ]
            ],
        ]
        return document.text
    }

    /// Registers an installation for each device, `i0`, `i1` and so on.
    /// - Parameter more: further members, each with a comma before it.
    func register(_ more: (Int) -> String = { _ in "" }) async throws {
        for index in tokens.indices { try await register(index, more(index)) }
    }

    func register(_ index: Int, _ more: String = "") async throws {
        let answer = try await provider.ask(
            .PUT, "/v1/installations/i\(index)",
            #"{"deviceToken":"\#(tokens[index])","environment":"development"\#(more)}"#, key: serverKey)
        try #require(answer.status == 200, "\(answer.body.text)")
    }

    /// Sends a message with the backend's key.
    /// - Returns: its identifier.
    func send(
        audience: String = #"{"everybody":true}"#,
        payload: String = #"{"aps":{"alert":"Hello"}}"#,
        _ more: String = "",
    ) async throws -> String {
        let answer = try await provider.ask(
            .POST, "/v1/messages", #"{"audience":\#(audience),"payload":\#(payload)\#(more)}"#, key: serverKey)
        try #require(answer.status == 202, "\(answer.body.text)")
        return try answer.text("id")
    }

    /// The requests that Carillon has got: device token, `apns-id` and payload of each.
    func received() async throws -> [(token: String, id: String, payload: JSONValue)] {
        var received: [(token: String, id: String, payload: JSONValue)] = []
        var after = 0
        while true {
            let answer = try await carillon.ask("GET", "/v1/requests?limit=1000&after=\(after)")
            guard case .array(let items) = try JSONDecoder().decode(JSONValue.self, from: answer.body), !items.isEmpty
            else { return received }
            for case .object(let item) in items {
                guard case .integer(let number)? = item["number"] else { continue }
                after = max(after, Int(number))
                var token = ""
                if case .string(let text)? = item["token"] { token = text }
                var id = ""
                if case .string(let text)? = item["apnsID"] { id = text }
                received.append((token, id, item["payload"] ?? .null))
            }
        }
    }
}

import Crypto
import Foundation
import Management
import NIOHTTP1
import Notifications
import Service
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// The provider server as an instance of a publisher's gateway.
@Suite(.timeLimit(.minutes(3))) struct GrantedCampaignTests {
    @Test func `A message goes through a grant, to a handle in place of a device token`() async throws {
        try await TestService.run {
            $0.store = .memory
        } _: { gateway in
            let (_, tokens) = try await TestShop.makeFixture(gateway, [nil])
            let key = P256.Signing.PrivateKey()
            let grant: ManagementMessages.GrantMade = try await gateway.administer(
                "POST", "/v1/grants",
                ManagementMessages.NewGrant(
                    bundleID: TestShop.bundleID, name: "shop", publicKey: key.publicKey.pemRepresentation))
            let made = try await gateway.askGateway(
                "POST", "/1/handles", clientKey: grant.clientKey,
                body: #"{"bundleID":"\#(TestShop.bundleID)","environment":"development","token":"\#(tokens[0])"}"#)
            let handle = try JSONDecoder().decode([String: String].self, from: Data(made.body.utf8))["handle"]
            let document: JSONValue = [
                "teamID": .string(grant.teamID),
                "environments": [
                    "development": [
                        "url": .string("https://127.0.0.1:\(try gateway.port(\.provider))"),
                        "authority": .string(try String(contentsOfFile: gateway.description.ca, encoding: .utf8)),
                        "key": [
                            "keyID": .string(try #require(grant.keyID)), "privateKey": .string(key.pemRepresentation),
                        ],
                    ]
                ],
            ]
            try await TestProvider.run { provider in
                let app = try await provider.ask(.PUT, "/v1/apps/\(TestShop.bundleID)", document.text)
                try #require(app.status == 201, "\(app.body.text)")
                let shop = TestShop(
                    carillon: gateway, provider: provider, tokens: [try #require(handle)],
                    clientKey: try app.text("clientKey"), serverKey: try app.text("serverKey"))
                try await shop.register()
                let message = try await shop.send()
                #expect(try await provider.finished(message)["accepted"] == 1)
                #expect(try await gateway.grant(grant.grant).sent == ["200": 1])
            }
        }
    }
}

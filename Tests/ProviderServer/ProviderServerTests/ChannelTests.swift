import Foundation
import NIOHTTP1
import Notifications
import Service
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// Broadcast channels, and messages to them.
@Suite(.timeLimit(.minutes(3))) struct ChannelTests {
    /// Tells the provider server where Carillon manages channels.
    private static func setChannels(_ shop: TestShop) async throws {
        let path = "/v1/apps/\(TestShop.bundleID)"
        let shown = try await shop.provider.ask(.GET, path)
        guard let url = shown["environments", "development", "url"],
            let authority = shown["environments", "development", "authority"]
        else { return try #require(Bool(false)) }
        let channels = "https://127.0.0.1:\(try shop.carillon.port(\.channels))"
        let place: JSONValue = ["url": url, "authority": authority, "channels": .string(channels)]
        let app: JSONValue = ["teamID": "ABCDE12345", "environments": ["development": place]]
        let answer = try await shop.provider.ask(.PUT, path, app.text)
        try #require(answer.status == 200, "\(answer.body.text)")
        #expect(answer["environments", "development", "channels"] == .string(channels))
    }

    private static let update = #"{"aps":{"event":"update","timestamp":1,"content-state":{"score":1}}}"#

    private static func send(
        _ shop: TestShop, _ audience: String, _ more: String = "", payload: String? = nil,
    ) async throws -> TestProvider.Answer {
        try await shop.provider.ask(
            .POST, "/v1/messages?wait=PT20S", #"{"audience":\#(audience),"payload":\#(payload ?? update)\#(more)}"#,
            key: shop.serverKey)
    }

    @Test func `A channel is made, gets a broadcast and is deleted`() async throws {
        try await TestShop.run(devices: []) { shop in
            try await Self.setChannels(shop)
            let query = "?environment=development"
            let made = try await shop.provider.ask(
                .POST, "/v1/channels", #"{"environment":"development","keeps":"nothing"}"#, key: shop.serverKey)
            let id = try made.text("id")
            #expect(made.status == 201 && made["keeps"] == "nothing" && made["environment"] == "development")
            let listed = try await shop.provider.ask(.GET, "/v1/channels" + query, key: shop.serverKey)
            #expect(listed["items", "0", "id"] == .string(id) && listed["items", "1"] == nil)
            let sent = try await Self.send(shop, #"{"channel":"\#(id)","environment":"development"}"#)
            #expect(sent.status == 200 && sent["state"] == "finished", "\(sent.body.text)")
            #expect(sent["accepted"] == 1 && sent["total"] == 1 && sent["failed"] == 0)
            let path = try #require(id.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
            for status in [204, 404] {
                let answer = try await shop.provider.ask(.DELETE, "/v1/channels/\(path)\(query)", key: shop.serverKey)
                #expect(answer.status == status)
            }
            let late = try await Self.send(shop, #"{"channel":"\#(id)","environment":"development"}"#)
            #expect(late["failed"] == 1 && late["accepted"] == 0, "\(late.body.text)")
        }
    }

    @Test func `A broadcast is refused if it cannot be the same for everybody`() async throws {
        try await TestShop.run(devices: []) { shop in
            let channel = #"{"channel":"aaaa","environment":"development"}"#
            let faults = [
                (#"{"channel":"aaaa","environment":"development","tags":"a"}"#, "", "/audience/tags"),
                (#"{"channel":"aaaa"}"#, "", "/audience/environment"),
                (channel, #","localTime":"2030-01-01T09:00""#, "/localTime"),
                (channel, #","quietHours":{"from":"22:00","to":"08:00"}"#, "/quietHours"),
                (channel, #","activity":"a","pushType":"liveactivity""#, "/activity"),
            ]
            for (audience, more, pointer) in faults {
                let answer = try await Self.send(shop, audience, more)
                #expect(answer.status == 400 && answer.pointer == pointer, "\(answer.body.text)")
            }
            let named = try await Self.send(shop, channel, payload: #"{"aps":{"event":"{{name}}"}}"#)
            #expect(named.status == 400 && named.pointer == "/payload")
            let elsewhere = try await shop.provider.ask(
                .POST, "/v1/channels", #"{"environment":"production"}"#, key: shop.serverKey)
            #expect(elsewhere.status == 400 && elsewhere.pointer == "/environment", "\(elsewhere.body.text)")
            // The app sends to a Carillon whose management of channels it does not name.
            let answer = try await shop.provider.ask(
                .GET, "/v1/channels?environment=development", key: shop.serverKey)
            #expect(answer.status == 409)
        }
    }
}

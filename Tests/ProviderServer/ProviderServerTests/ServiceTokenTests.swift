import Foundation
import NIOHTTP1
import Notifications
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// Messages to the services of an app, which have device tokens of their own.
@Suite(.timeLimit(.minutes(3))) struct ServiceTokenTests {
    @Test func `A message goes to the device token of its service, and one without it is counted`() async throws {
        try await TestShop.run(devices: [nil, nil, nil]) { shop in
            try await shop.register(0, #","tokens":{"voip":"\#(shop.tokens[2])"}"#)
            try await shop.register(1)
            for more in [#","pushType":"voip""#, #","topic":"com.example.shop.voip""#] {
                let message = try await shop.provider.finished(try await shop.send(more))
                #expect(message["accepted"] == 1 && message["failedByReason"] == ["NoDeviceToken: voip": 1])
            }
            #expect(try await shop.received().map(\.token) == [shop.tokens[2], shop.tokens[2]])
            // The app's own notifications go to its own device token.
            #expect(try await shop.provider.finished(try await shop.send())["accepted"] == 2)
            #expect(try await Set(shop.received().map(\.token)) == Set(shop.tokens))
        }
    }

    @Test func `A device token that ended is removed, and the installation goes on`() async throws {
        let removed = #"{"kind":"removed","since":1700000000000}"#
        try await TestShop.run(devices: [nil, removed]) {
            // The app registers before the device token ends.
            $0.clock.now = { Timestamp(milliseconds: 1_600_000_000_000) }
        } _: { shop in
            try await shop.register(0, #","tokens":{"voip":"\#(shop.tokens[1])","widgets":"0a"}"#)
            let message = try await shop.provider.finished(try await shop.send(#","pushType":"voip""#))
            #expect(message["failedByReason"] == ["Unregistered": 1])
            let shown = try await shop.provider.ask(.GET, "/v1/installations/i0", key: shop.serverKey)
            #expect(shown["ended"] == nil && shown["tokens"] == ["widgets": "0a"])
        }
    }

    private static func activity(_ event: String) -> String {
        #"{"aps":{"event":"\#(event)","timestamp":1,"content-state":{}}}"#
    }

    @Test func `A Live Activity is started, updated and ended at its device tokens`() async throws {
        try await TestShop.run(devices: [nil, nil, nil]) { shop in
            let activities = #","activities":{"order-17":"\#(shop.tokens[2])"}"#
            try await shop.register(0, #","tokens":{"liveactivity":"\#(shop.tokens[1])"}"# + activities)
            let live = #","pushType":"liveactivity""#
            let start =
                #"{"aps":{"event":"start","timestamp":1,"attributes-type":"Order","attributes":{},"#
                + #""content-state":{},"alert":{"title":"x"}}}"#
            let steps = [
                (start, live, 1), (Self.activity("update"), live + #","activity":"order-17""#, 2),
                (Self.activity("end"), live + #","activity":"order-17""#, 2),
            ]
            for (payload, more, device) in steps {
                let id = try await shop.send(payload: payload, more)
                #expect(try await shop.provider.finished(id)["accepted"] == 1, "\(payload)")
                #expect(try await shop.received().last?.token == shop.tokens[device])
            }
            // Its device token ended with it.
            let shown = try await shop.provider.ask(.GET, "/v1/installations/i0", key: shop.serverKey)
            #expect(shown["activities"] == nil && shown["tokens", "liveactivity"] != nil)
            let late = try await shop.send(payload: Self.activity("update"), live + #","activity":"order-17""#)
            #expect(try await shop.provider.finished(late)["failedByReason"] == ["NoDeviceToken: liveactivity": 1])
        }
    }

    @Test(arguments: [
        #","pushType":"liveactivity""#, #","activity":"order-17""#, #","pushType":"liveactivity","activity":"a b""#,
    ])
    func `A message says which Live Activity it is about, and only then`(_ more: String) async throws {
        try await TestShop.run(devices: []) { shop in
            let answer = try await shop.provider.ask(
                .POST, "/v1/messages",
                #"{"audience":{"everybody":true},"payload":\#(Self.activity("update"))\#(more)}"#, key: shop.serverKey)
            #expect(answer.status == 400 && answer.pointer == "/activity", "\(answer.body.text)")
        }
    }
}

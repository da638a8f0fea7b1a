import CommonTesting
import Delivery
import Foundation
import NIOHTTP1
import Notifications
import Rates
import Service
import Synchronization
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// Messages that are paused, resumed, cancelled, and that survive the end of the server.
@Suite(.timeLimit(.minutes(3))) struct CampaignTests {
    /// A clock that a test moves on.
    private final class TestClock: Sendable {
        /// The time, and the time before it was moved on.
        private let state: Mutex<(now: Timestamp, earlier: Timestamp)>

        init() {
            let now = ProviderClock.system.now()
            state = Mutex((now, now))
        }

        var now: Timestamp { state.withLock { $0.now } }

        /// Short waits are real: they pace the server's own work.
        var clock: ProviderClock {
            ProviderClock(now: { self.now }) { duration in
                guard duration > .seconds(2) else { return await ProviderClock.system.sleep(duration) }
                // Whoever waits may have read the time before it was moved on. It wakes too early otherwise, and looks again.
                let until = self.state.withLock { $0.earlier }.advanced(by: duration)
                repeat {
                    await ProviderClock.system.sleep(.milliseconds(5))
                } while self.now < until && !Task.isCancelled
            }
        }

        func advance(by duration: Duration) { state.withLock { $0 = ($0.now.advanced(by: duration), $0.now) } }
    }

    @Test func `A paused message goes on where it was, and nobody gets it twice`() async throws {
        try await TestShop.run(devices: Array(repeating: nil, count: 40)) { shop in
            try await shop.register()
            let id = try await shop.send(#","rate":4"#)
            _ = try await shop.provider.message(id) { $0["accepted"] != 0 }
            let paused = try await shop.provider.ask(.POST, "/v1/messages/\(id)/pause", key: shop.serverKey)
            #expect(paused.status == 200 && paused["state"] == "paused")
            let sent = try await shop.received().count
            #expect(paused["accepted"] == .integer(Int64(sent)) && sent < 40)
            // Pausing again changes nothing.
            #expect(try await shop.provider.ask(.POST, "/v1/messages/\(id)/pause")["state"] == "paused")
            _ = try await shop.provider.ask(.PATCH, "/v1/messages/\(id)", #"{"rate":null}"#, key: shop.serverKey)
            _ = try await shop.provider.ask(.POST, "/v1/messages/\(id)/resume", key: shop.serverKey)
            #expect(try await shop.provider.finished(id)["accepted"] == 40)
            #expect(try await shop.received().map(\.token).sorted() == shop.tokens.sorted())
            #expect(try await shop.provider.ask(.POST, "/v1/messages/\(id)/cancel").status == 409)
        }
    }

    @Test func `A cancelled message never goes on`() async throws {
        try await TestShop.run(devices: Array(repeating: nil, count: 20)) { shop in
            try await shop.register()
            let id = try await shop.send(#","rate":4"#)
            _ = try await shop.provider.message(id) { $0["accepted"] != 0 }
            let cancelled = try await shop.provider.ask(.POST, "/v1/messages/\(id)/cancel", key: shop.serverKey)
            #expect(cancelled["state"] == "cancelled")
            #expect(try await shop.provider.ask(.POST, "/v1/messages/\(id)/resume").status == 409)
            #expect(cancelled["accepted"] == .integer(Int64(try await shop.received().count)))
        }
    }

    @Test func `A message goes on after a restart, and nobody gets it twice`() async throws {
        try await TestProvider.withFolder { folder in
            var id = ""
            try await TestService.run {
                $0.store = .memory
                $0.delivery.requestsPerDeviceToken = .unlimited
            } _: { carillon in
                let (document, tokens) = try await TestShop.makeFixture(carillon, Array(repeating: nil, count: 40))
                var shop: TestShop?
                try await TestProvider.run(folder: folder) { provider in
                    let app = try await provider.ask(.PUT, "/v1/apps/\(TestShop.bundleID)", document)
                    let first = TestShop(
                        carillon: carillon, provider: provider, tokens: tokens, clientKey: try app.text("clientKey"),
                        serverKey: try app.text("serverKey"))
                    try await first.register()
                    let sent = try await first.send(#","rate":4"#)
                    id = sent
                    _ = try await provider.message(sent) { $0["accepted"] != 0 }
                    shop = first
                }
                let sent = try await #require(shop).received().count
                #expect((1..<40).contains(sent))
                try await TestProvider.run(folder: folder) { provider in
                    let message = id
                    _ = try await provider.ask(.PATCH, "/v1/messages/\(message)", #"{"rate":null}"#)
                    #expect(try await provider.finished(message)["accepted"] == 40)
                }
                #expect(try await #require(shop).received().map(\.token).sorted() == tokens.sorted())
            }
        }
    }

    @Test func `A message waits for its time`() async throws {
        let time = TestClock()
        try await TestShop.run(devices: [nil]) {
            $0.clock = time.clock
        } _: { shop in
            try await shop.register()
            let id = try await shop.send(#","sendAt":"\#(time.now.advanced(by: .seconds(3600)).text)""#)
            #expect(try await shop.provider.ask(.GET, "/v1/messages/\(id)")["state"] == "scheduled")
            // Who registers before its time gets it, too.
            time.advance(by: .seconds(3500))
            #expect(try await shop.provider.ask(.GET, "/v1/messages/\(id)")["state"] == "scheduled")
            time.advance(by: .seconds(101))
            #expect(try await shop.provider.finished(id)["accepted"] == 1)
        }
    }

    @Test func `With a local time each time zone has its turn`() async throws {
        let time = TestClock()
        try await TestShop.run(devices: [nil, nil, nil]) {
            $0.clock = time.clock
        } _: { shop in
            try await shop.register { index in
                [#","timeZone":"Asia/Tokyo""#, "", #","timeZone":"America/New_York""#][index]
            }
            // Noon the day after tomorrow.
            let day = Date(timeIntervalSince1970: Double(time.now.milliseconds) / 1000 + 2 * 86_400)
            let text =
                day.formatted(
                    Date.VerbatimFormatStyle(
                        format: "\(year: .defaultDigits)-\(month: .twoDigits)-\(day: .twoDigits)", timeZone: .gmt,
                        calendar: .init(identifier: .gregorian))) + "T12:00"
            let local = try #require(LocalTime(text))
            let id = try await shop.send(#","localTime":"\#(text)""#)
            for (count, zone) in zip(1..., ["Asia/Tokyo", "GMT", "America/New_York"]) {
                let due = local.moment(in: zone)
                time.advance(by: .milliseconds(Int64(due.milliseconds - time.now.milliseconds)))
                let message = try await shop.provider.message(id) { $0["accepted"] == .integer(Int64(count)) }
                if count < 3 { #expect(message["state"] == "running") }
                #expect(try await shop.received().count == count)
            }
            #expect(try await shop.provider.finished(id)["state"] == "finished")
        }
    }

    @Test func `Messages that wait for a local time leave room for others, and go on at their time`() async throws {
        let time = TestClock()
        try await TestShop.run(devices: [nil]) {
            $0.clock = time.clock
        } _: { shop in
            try await shop.register()
            let day = Date(timeIntervalSince1970: Double(time.now.milliseconds) / 1000 + 2 * 86_400)
            let text = day.formatted(.iso8601.year().month().day()) + "T12:00"
            let local = try #require(LocalTime(text))
            func advance(to moment: Timestamp) {
                time.advance(by: .milliseconds(Int64(moment.milliseconds) - Int64(time.now.milliseconds)))
            }
            var waiting: [String] = []
            for _ in 0..<ProviderServerLimits.messagesAtOnce {
                waiting.append(try await shop.send(#","localTime":"\#(text)""#))
            }
            advance(to: local.earliest)
            for id in waiting {
                #expect(try await shop.provider.message(id) { $0["state"] == "running" }["accepted"] == 0)
            }
            #expect(try await shop.provider.finished(try await shop.send())["accepted"] == 1)
            // One that is paused while it waits, and goes on later.
            let path = "/v1/messages/\(waiting[0])"
            #expect(try await shop.provider.ask(.POST, path + "/pause")["state"] == "paused")
            advance(to: local.moment(in: "GMT"))
            for id in waiting.dropFirst() { #expect(try await shop.provider.finished(id)["accepted"] == 1) }
            #expect(try await shop.provider.ask(.GET, path)["accepted"] == 0)
            _ = try await shop.provider.ask(.POST, path + "/resume")
            #expect(try await shop.provider.message(waiting[0]) { $0["state"] == "finished" }["accepted"] == 1)
        }
    }

    @Test func `A recipient who is deleted before their turn does not get the message`() async throws {
        try await TestShop.run(devices: Array(repeating: nil, count: 40)) { shop in
            try await shop.register()
            let id = try await shop.send(#","rate":4"#)
            _ = try await shop.provider.message(id) { $0["accepted"] != 0 }
            #expect(try await shop.provider.ask(.DELETE, "/v1/installations/i39", key: shop.serverKey).status == 204)
            _ = try await shop.provider.ask(.PATCH, "/v1/messages/\(id)", #"{"rate":null}"#, key: shop.serverKey)
            #expect(try await shop.provider.finished(id)["accepted"] == 39)
            #expect(try await shop.received().map(\.token).sorted() == shop.tokens.dropLast().sorted())
        }
    }

    @Test func `A change of the rate names it, and a message that has ended has none`() async throws {
        try await TestShop.run(devices: [nil]) { shop in
            try await shop.register()
            let later = ProviderClock.system.now().advanced(by: .seconds(86_400))
            let id = try await shop.send(#","rate":4,"sendAt":"\#(later.text)""#)
            func patch(_ body: String) async throws -> TestProvider.Answer {
                try await shop.provider.ask(.PATCH, "/v1/messages/\(id)", body, key: shop.serverKey)
            }
            #expect(try await patch("{}").status == 400)
            #expect(try await shop.provider.ask(.GET, "/v1/messages/\(id)")["rate"] == 4)
            #expect(try await patch(#"{"rate":5}"#)["rate"] == 5)
            let unlimited = try await patch(#"{"rate":null}"#)
            #expect(unlimited.status == 200 && unlimited["rate"] == nil)
            _ = try await shop.provider.ask(.POST, "/v1/messages/\(id)/cancel")
            #expect(try await patch(#"{"rate":5}"#).status == 409)
        }
    }

    @Test func `A deleted app takes its running message with it`() async throws {
        try await TestShop.run(devices: Array(repeating: nil, count: 20)) { shop in
            try await shop.register()
            let id = try await shop.send(#","rate":4"#)
            _ = try await shop.provider.message(id) { $0["accepted"] != 0 }
            let path = "/v1/apps/\(TestShop.bundleID)"
            #expect(try await shop.provider.ask(.DELETE, path).status == 200)
            #expect(try await shop.provider.ask(.GET, "/v1/messages/\(id)").status == 404)
            #expect(try await shop.provider.ask(.GET, "/v1/installations", key: shop.serverKey).status == 401)
            let sent = try await shop.received().count
            #expect((1..<20).contains(sent))
            // The same bundle ID makes a new app, with nothing of the old one.
            let made = try await shop.provider.ask(.PUT, path, TestShop.other())
            let list = try await shop.provider.ask(.GET, "/v1/installations", key: try made.text("serverKey"))
            #expect(made.status == 201 && list["items"] == .array([]))
            #expect(try await shop.received().count == sent)
        }
    }

    @Test func `A message that has ended is deleted with its outcomes, and no other`() async throws {
        try await TestShop.run(devices: [nil]) { shop in
            try await shop.register()
            let id = try await shop.send()
            _ = try await shop.provider.finished(id)
            let later = ProviderClock.system.now().advanced(by: .seconds(86_400))
            let open = try await shop.send(#","sendAt":"\#(later.text)""#)
            func delete(_ id: String, key: String? = nil) async throws -> Int {
                try await shop.provider.ask(.DELETE, "/v1/messages/\(id)", key: key ?? shop.serverKey).status
            }
            #expect(try await delete(id, key: shop.clientKey) == 403)
            #expect(try await delete(open) == 409)
            for status in [204, 404] { #expect(try await delete(id) == status) }
            #expect(try await shop.provider.ask(.GET, "/v1/messages/\(id)/outcomes").status == 404)
            _ = try await shop.provider.ask(.POST, "/v1/messages/\(open)/cancel")
            #expect(try await delete(open) == 204)
        }
    }

    @Test func `Messages that ended long ago are deleted, if a setting says so`() async throws {
        let time = TestClock()
        try await TestShop.run(devices: [nil]) {
            $0.clock = time.clock
            $0.messageDays = 2
        } _: { shop in
            try await shop.register()
            let id = try await shop.send()
            _ = try await shop.provider.finished(id)
            time.advance(by: .seconds(86_400))
            let newer = try await shop.send()
            _ = try await shop.provider.finished(newer)
            time.advance(by: .seconds(86_400 + 7_200))
            try await wait(while: try await shop.provider.ask(.GET, "/v1/messages/\(id)").status != 404)
            #expect(try await shop.provider.ask(.GET, "/v1/messages/\(newer)").status == 200)
        }
    }

    @Test func `With credentials that the service refuses, a message is paused for a person`() async throws {
        try await TestShop.run(devices: [nil, nil]) { shop in
            try await shop.register()
            _ = try await shop.carillon.ask("DELETE", "/v1/keys/KEY1234567")
            let id = try await shop.send()
            let message = try await shop.provider.finished(id)
            #expect(message["state"] == "paused" && message["accepted"] == 0 && message["failed"] == 0)
            #expect(try message.text("cause").contains("InvalidProviderToken"))
        }
    }

    @Test func `Everybody waits while the service cannot be reached, and gets it later`() async throws {
        try await TestShop.run(devices: [nil, nil]) {
            $0.deadline = .seconds(1)
        } _: { shop in
            try await shop.register()
            let path = "/v1/apps/\(TestShop.bundleID)"
            let shown = try await shop.provider.ask(.GET, path)
            let url = try #require(shown["environments", "development", "url"])
            let authority = try #require(shown["environments", "development", "authority"])
            func move(_ url: JSONValue) async throws {
                let document: JSONValue = [
                    "teamID": "ABCDE12345", "environments": ["development": ["url": url, "authority": authority]],
                ]
                #expect(try await shop.provider.ask(.PUT, path, document.text).status == 200)
            }
            // Nothing listens on the discard port.
            try await move("https://127.0.0.1:9")
            let id = try await shop.send()
            let waiting = try await shop.provider.message(id) { $0["cause"] != nil }
            #expect(waiting["state"] == "running" && waiting["failed"] == 0)
            try await move(url)
            #expect(try await shop.provider.finished(id)["accepted"] == 2)
        }
    }
}

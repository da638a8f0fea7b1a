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
        private let state = Mutex(ProviderClock.system.now())

        var now: Timestamp { state.withLock(\.self) }

        /// Short waits are real: they pace the server's own work.
        var clock: ProviderClock {
            ProviderClock(now: { self.now }) { duration in
                guard duration > .seconds(2) else { return await ProviderClock.system.sleep(duration) }
                let until = self.now.advanced(by: duration)
                while self.now < until, !Task.isCancelled { await ProviderClock.system.sleep(.milliseconds(5)) }
            }
        }

        func advance(by duration: Duration) { state.withLock { $0 = $0.advanced(by: duration) } }
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
            _ = try await shop.provider.ask(.PATCH, "/v1/messages/\(id)", "{}", key: shop.serverKey)
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
                $0.delivery.requestsPerDeviceToken = .off
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
                    _ = try await provider.ask(.PATCH, "/v1/messages/\(message)", "{}")
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

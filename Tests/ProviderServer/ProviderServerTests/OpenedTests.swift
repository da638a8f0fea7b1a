import Foundation
import HTTPAPI
import NIOHTTP1
import Notifications
import Synchronization
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// Notifications that were opened, and quiet hours.
@Suite(.timeLimit(.minutes(3))) struct OpenedTests {
    private static let secret = [("installation-secret", "0123456789abcdef")]

    @Test func `A notification that was opened is counted once, with the time`() async throws {
        try await TestShop.run(devices: [nil, nil]) { shop in
            for index in [0, 1] {
                let answer = try await shop.provider.ask(
                    .PUT, "/v1/installations/i\(index)",
                    #"{"deviceToken":"\#(shop.tokens[index])","environment":"development"}"#, key: shop.clientKey,
                    headers: Self.secret)
                try #require(answer.status == 200)
            }
            let id = try await shop.send(#","countsOpened":true"#)
            #expect(try await shop.provider.finished(id)["opened"] == 0)
            let payload = try #require(try await shop.received().first?.payload)
            guard case .object(let members) = payload else { return try #require(Bool(false)) }
            #expect(members["carillon-message"] == .string(id))
            func open(_ installation: String, _ message: String, _ headers: [(String, String)]) async throws -> Int {
                try await shop.provider.ask(
                    .POST, "/v1/installations/\(installation)/opened", #"{"message":"\#(message)"}"#,
                    key: shop.clientKey, headers: headers
                ).status
            }
            for _ in 0..<2 { #expect(try await open("i0", id, Self.secret) == 204) }
            #expect(try await open("i1", id, [("installation-secret", "another secret of the app")]) == 403)
            #expect(try await open("i1", "none", Self.secret) == 404)
            let message = try await shop.provider.ask(.GET, "/v1/messages/\(id)")
            #expect(message["opened"] == 1 && message["accepted"] == 2)
            let outcomes = try await shop.provider.ask(.GET, "/v1/messages/\(id)/outcomes")
            #expect(outcomes["items", "0", "openedAt"] != nil && outcomes["items", "1", "openedAt"] == nil)
        }
    }

    @Test func `Without countsOpened the payload is as the sender wrote it`() async throws {
        try await TestShop.run(devices: [nil]) { shop in
            try await shop.register()
            _ = try await shop.provider.finished(try await shop.send())
            #expect(try await shop.received().first?.payload == ["aps": ["alert": "Hello"]])
        }
    }

    // MARK: Quiet hours

    private static func hours(_ from: String, _ to: String) throws -> QuietHours {
        let value: JSONValue = ["from": .string(from), "to": .string(to)]
        let hours = try QuietHours.form.read(value, at: "/quietHours")
        try hours.check(at: "/quietHours")
        #expect(QuietHours.form.write(hours) == value)
        return hours
    }

    /// 2027-01-15 in GMT.
    private static func moment(_ time: String) throws -> Timestamp {
        try #require(Timestamp(text: "2027-01-15T\(time):00Z"))
    }

    @Test func `Whose quiet hours it is gets the message at their end`() throws {
        let night = try Self.hours("22:00", "08:00")
        #expect(try night.moment(after: Self.moment("12:00"), in: "GMT") == Self.moment("12:00"))
        #expect(try night.moment(after: Self.moment("03:00"), in: "GMT") == Self.moment("08:00"))
        #expect(try night.moment(after: Self.moment("08:00"), in: "GMT") == Self.moment("08:00"))
        #expect(try night.moment(after: Self.moment("22:30"), in: "GMT").text == "2027-01-16T08:00:00.000Z")
        // It is 21:30 in Stockholm, and 5:30 the next morning in Tokyo, eight hours later.
        #expect(try night.moment(after: Self.moment("20:30"), in: "Europe/Stockholm") == Self.moment("20:30"))
        #expect(try night.moment(after: Self.moment("20:30"), in: "Asia/Tokyo") == Self.moment("23:00"))
        let lunch = try Self.hours("12:00", "13:00")
        #expect(try lunch.moment(after: Self.moment("12:59"), in: "GMT") == Self.moment("13:00"))
        #expect(try lunch.moment(after: Self.moment("13:00"), in: "GMT") == Self.moment("13:00"))
    }

    @Test(arguments: [
        ("24:00", "08:00", "/quietHours/from"), ("22:00", "8:00", "/quietHours/to"), ("8:00", "", "/quietHours/from"),
        ("08:00", "08:00", "/quietHours/to"),
    ])
    func `Quiet hours are two times of day`(_ from: String, _ to: String, _ pointer: String) {
        let problem = #expect(throws: Problem.self) { try Self.hours(from, to) }
        #expect(problem?.pointer == pointer)
    }

    @Test func `A message is held for those whose quiet hours it is, and goes to the others`() async throws {
        try await TestShop.run(devices: [nil, nil]) {
            // It is 23:00 in GMT, and 8:00 in Tokyo.
            $0.clock.now = { Timestamp(milliseconds: 1_800_054_000_000) }
        } _: { shop in
            try await shop.register { #","timeZone":"\#(["GMT", "Asia/Tokyo"][$0])""# }
            let id = try await shop.send(#","quietHours":{"from":"22:00","to":"07:00"}"#)
            let waiting = try await shop.provider.message(id) { $0["accepted"] == 1 }
            #expect(waiting["state"] == "running")
            #expect(try await shop.received().map(\.token) == [shop.tokens[1]])
        }
    }

    /// A clock on which it is evening until the test lets the morning come.
    private final class Night: Sendable {
        private static let evening = Timestamp(milliseconds: 1_800_054_000_000)
        private let isMorning = Atomic(false)

        private var hasEnded: Bool { isMorning.load(ordering: .sequentiallyConsistent) }

        var clock: ProviderClock {
            ProviderClock(
                now: { self.hasEnded ? Self.evening.advanced(by: .seconds(36_000)) : Self.evening },
                sleep: { duration in
                    // Only the wait for the end of the quiet hours is this long. It is a minute at a time.
                    guard duration >= .seconds(60) else { return await ProviderClock.system.sleep(duration) }
                    while !self.hasEnded, !Task.isCancelled {
                        await ProviderClock.system.sleep(.milliseconds(5))
                    }
                })
        }

        func end() { isMorning.store(true, ordering: .sequentiallyConsistent) }
    }

    @Test func `Somebody who travels to a time zone whose turn has passed still gets a message that was held`()
        async throws
    {
        let night = Night()
        try await TestShop.run(devices: [nil, nil]) {
            $0.clock = night.clock
            // Nothing is deleted, so that only the message waits for hours.
            $0.messageDays = 0
        } _: { shop in
            defer { night.end() }
            try await shop.register { #","timeZone":"\#(["GMT", "Asia/Tokyo"][$0])""# }
            let id = try await shop.send(#","quietHours":{"from":"22:00","to":"07:00"}"#)
            _ = try await shop.provider.message(id) { $0["accepted"] == 1 }
            let moved = try await shop.provider.ask(
                .PATCH, "/v1/installations/i0", #"{"timeZone":"Asia/Tokyo"}"#, key: shop.serverKey)
            #expect(moved.status == 200)
            night.end()
            #expect(try await shop.provider.finished(id)["accepted"] == 2)
            #expect(try await shop.received().map(\.token).sorted() == shop.tokens.sorted())
        }
    }
}

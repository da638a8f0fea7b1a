import Delivery
import Foundation
import Management
import Notifications
import Rates
import Service
import Testing

@testable import ServiceTesting

/// What advancing the virtual clock changes, and how clients' times are converted.
@Suite("The virtual clock", .timeLimit(.minutes(2))) struct VirtualClockTests {
    private static func run(
        _ change: (inout Settings) -> Void = { _ in },
        _ body: (TestService) async throws -> Void,
    ) async throws {
        try await TestService.run(
            { settings in
                settings.clock = .virtual
                change(&settings)
            }, body)
    }

    private static func advance(_ duration: String, _ test: TestService) async throws {
        let answer = try await test.ask("POST", "/v1/clock", body: #"{"advance":"\#(duration)"}"#)
        #expect(answer.status == 200, "\(answer.text)")
    }

    private static func now(_ test: TestService) async throws -> Date {
        let reading: ManagementMessages.ClockReading = try await test.administer("GET", "/v1/clock")
        return try Date(reading.now, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// The events of the delivery log with one identifier.
    private static func events(_ id: String, _ test: TestService) async throws -> [String] {
        let answer = try await test.ask("GET", "/v1/log?id=\(id)")
        return answer.text.matches(of: /"event":"(\w+)"/).map { String($0.1) }
    }

    @Test func `The virtual clock runs with the machine's clock, plus the advances`() async throws {
        try await Self.run { test in
            let before = Date()
            try await Self.advance("P2D", test)
            try await Self.advance("PT1H", test)
            let now = try await Self.now(test)
            #expect(now >= before.addingTimeInterval(2 * 86_400 + 3600 - 0.001))
            #expect(now <= Date().addingTimeInterval(2 * 86_400 + 3600))
        }
    }

    @Test func `The system's clock cannot be advanced`() async throws {
        try await TestService.run { test in
            let answer = try await test.ask("POST", "/v1/clock", body: #"{"advance":"PT1H"}"#)
            #expect(answer.status == 409)
            #expect(answer.text.contains("--clock virtual"))
            #expect(try await Self.now(test) <= Date())
        }
    }

    @Test(arguments: [
        (#"{"advance":"-PT1H"}"#, "/advance"), (#"{"advance":"1 hour"}"#, "/advance"),
        (#"{"advance":"P1Y"}"#, "/advance"), (#"{"advance":"P367D"}"#, "/advance"), (#"{"advance":3600}"#, "/advance"),
        (#"{"set":"2030-01-01"}"#, "/set"),
    ])
    func `An invalid advance is refused, and changes nothing`(_ body: String, _ pointer: String) async throws {
        try await Self.run { test in
            let answer = try await test.ask("POST", "/v1/clock", body: body)
            #expect(answer.status == 400)
            #expect(answer.problem?["pointer"] as? String == pointer)
            #expect(try await Self.now(test) <= Date())
        }
    }

    @Test func `A virtual clock is refused if the development environment is not served`() async throws {
        await #expect(throws: ServiceError.self) {
            try await Self.run {
                $0.environments = [.production]
            } _: { _ in
            }
        }
    }

    @Test func `After an hour a provider token is too old, and a new one is accepted`() async throws {
        try await Self.run { test in
            let device = try await test.makeDeviceToken()
            let old = ProviderHeaders(device, token: try test.providerToken())
            let provider = try await test.connectProvider()
            #expect(try await provider.send(old.fields).status == 200)
            try await Self.advance("PT59M", test)
            #expect(try await provider.send(old.fields).status == 200)
            try await Self.advance("PT2M", test)
            for provider in [provider, try await test.connectProvider()] {
                let refused = try await provider.send(old.fields)
                #expect(refused.status == 403)
                #expect(refused.reason == "ExpiredProviderToken")
            }
            // The provider's clock is the machine's. The token is valid on the old connection too, because the limit on
            // new tokens follows the virtual clock.
            let fresh = ProviderHeaders(device, token: try test.providerToken())
            #expect(try await provider.send(fresh.fields).status == 200)
            await provider.close()
        }
    }

    @Test func `A notification expires when the clock passes its expiration`() async throws {
        try await Self.run { test in
            let provider = try await test.connectProvider()
            let (short, long) = ("00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002")
            for (id, hours) in [(short, 1.0), (long, 3.0)] {
                let headers = ProviderHeaders(try await test.makeDeviceToken(), token: try test.providerToken())
                    .adding("apns-id", id)
                    .adding("apns-expiration", "\(Int(Date().addingTimeInterval(hours * 3600).timeIntervalSince1970))")
                #expect(try await provider.send(headers.fields).status == 200)
            }
            try await Self.advance("PT2H", test)
            // When the answer comes, all of this has happened and is in the log.
            #expect(try await Self.events(short, test).last == "expired")
            #expect(try await Self.events(long, test).last == "stored")
            try await Self.advance("PT2H", test)
            #expect(try await Self.events(long, test).last == "expired")
            await provider.close()
        }
    }

    @Test(arguments: [false, true])
    func `A device reads the expiration that the provider wrote`(_ hasTeamClock: Bool) async throws {
        try await Self.run { test in
            try await Self.advance("PT2H", test)
            if hasTeamClock {
                let team = try required(test.description.key).teamID
                let body = #"{"team":"\#(team)","advance":"PT3H"}"#
                #expect(try await test.ask("POST", "/v1/clock", body: body).status == 200)
            }
            try await Self.withDevice(power: "awake", test) { device, token in
                let expiration = "\(Int(Date().addingTimeInterval(3600).timeIntervalSince1970))"
                let headers = ProviderHeaders(token, token: try test.providerToken())
                    .adding("apns-expiration", expiration)
                let provider = try await test.connectProvider()
                #expect(try await provider.send(headers.fields).status == 200)
                let line = try await Self.nextNotification(device)
                #expect(line.contains(#""expiration":\#(expiration)"#))
                await provider.close()
            }
        }
    }

    @Test func `A throttled notification is sent when the clock passes its time`() async throws {
        try await Self.run {
            $0.delivery.requestsPerDeviceToken = Rate(burst: 1, perSecond: 1 / 3600)
        } _: { test in
            let headers = ProviderHeaders(try await test.makeDeviceToken(), token: try test.providerToken())
            let provider = try await test.connectProvider()
            #expect(try await provider.send(headers.fields).status == 200)
            #expect(try await provider.send(headers.fields).status == 429)
            try await Self.advance("PT30M", test)
            #expect(try await provider.send(headers.fields).status == 429)
            try await Self.advance("PT30M", test)
            let fresh = try test.providerToken()
            #expect(try await provider.send(headers.with("authorization", "bearer \(fresh)").fields).status == 200)
            await provider.close()
        }
    }

    @Test func `Held notifications were sent when the advance is answered`() async throws {
        try await Self.run { test in
            try await Self.withDevice(power: "low", test) { device, token in
                let provider = try await test.connectProvider()
                let headers = ProviderHeaders(token, token: try test.providerToken())
                #expect(try await provider.send(headers.fields).status == 200)
                _ = try await Self.nextNotification(device)
                let held = "00000000-0000-4000-8000-000000000001"
                let second = headers.adding("apns-priority", "5").adding("apns-id", held)
                #expect(try await provider.send(second.fields).status == 200)
                #expect(try await !Self.events(held, test).contains("sent"))
                try await Self.advance("PT31S", test)
                #expect(try await Self.events(held, test).contains("sent"))
                #expect(try await Self.nextNotification(device).contains(held))
                await provider.close()
            }
        }
    }

    @Test func `Broadcasts that are not urgent wait for the device's power`() async throws {
        try await Self.run { test in
            let channel = try await test.makeChannel()
            let device = try await test.connectCourier(try await test.makeDeviceCertificate())
            let token = try await Self.register(device)
            let stream = try await device.listen()
            #expect(try await device.subscribe(to: channel).status == 204)
            let state = try await device.send(TestService.deviceHeaders("POST", "/1/state"), body: #"{"power":"low"}"#)
            #expect(state.status == 204)
            let provider = try await test.connectProvider()
            let credential = try test.providerToken()
            // When this one has come, the stream has begun. What comes now waits.
            #expect(try await provider.send(ProviderHeaders(token, token: credential).fields).status == 200)
            _ = try await Self.nextNotification(stream)
            func broadcast(priority: Int) async throws -> String {
                var headers = ChannelHeaders(broadcastTo: channel, token: credential)
                headers.set("apns-priority", "\(priority)", "apns-expiration", "0")
                #expect(try await provider.send(headers.fields, body: headers.body).status == 200)
                return #""priority":\#(priority),"#
            }
            let never = try await broadcast(priority: 1)
            // This one cannot wait, and is no reason to send what waits.
            let single = ProviderHeaders(token, token: credential).adding("apns-priority", "5")
                .adding("apns-expiration", "0")
            #expect(try await provider.send(single.fields).status == 200)
            #expect(try await !Self.nextNotification(stream).contains("channel"))
            let grouped = try await broadcast(priority: 5)
            #expect(try await provider.send(single.fields).status == 200)
            #expect(try await !Self.nextNotification(stream).contains("channel"))
            // What waits comes together, and with what is sent at once.
            try await Self.advance("PT31S", test)
            for priority in [never, grouped] {
                let line = try await Self.nextNotification(stream)
                #expect(line.contains(priority), "\(line)")
            }
            _ = try await broadcast(priority: 1)
            let urgent = try await broadcast(priority: 10)
            for priority in [never, urgent] {
                let line = try await Self.nextNotification(stream)
                #expect(line.contains(priority), "\(line)")
            }
            await provider.close()
            await device.close()
        }
    }

    @Test func `The timestamp of a 410 is in the time of the provider's clock`() async throws {
        try await Self.run { test in
            try await Self.advance("P3D", test)
            let before = UInt64(Date().timeIntervalSince1970 * 1000)
            let headers = ProviderHeaders(try await test.makeDeviceToken(isGone: true), token: try test.providerToken())
            let after = UInt64(Date().timeIntervalSince1970 * 1000)
            try await Self.advance("PT30M", test)
            let provider = try await test.connectProvider()
            let answer = try await provider.send(headers.fields)
            #expect(answer.status == 410)
            let timestamp = try required(answer.body.firstMatch(of: /"timestamp":(\d+)/).flatMap { UInt64($0.1) })
            #expect((before...after + 1).contains(timestamp))
            await provider.close()
        }
    }

    private static let virtual = "00fc13adff785122"

    /// Makes a virtual device with one app and a named token.
    private static func makeDevice(_ behaviour: String, _ test: TestService) async throws {
        let made = try await test.ask(
            "POST", "/v1/fixtures",
            body:
                #"{"teams":[{"apps":["a.b"],"devices":[{"behaviour":\#(behaviour),"tokens":{"a.b":"\#(virtual)"}}]}]}"#)
        #expect(made.status == 200, "\(made.text)")
    }

    private static func send(_ more: String, _ test: TestService) async throws -> [String: Any] {
        let sent = try await test.ask(
            "POST", "/v1/notifications",
            body: #"{"token":"\#(virtual)","topic":"a.b","payload":{"aps":{"alert":"x"}}\#(more)}"#)
        return try required(sent.problem)
    }

    @Test func `The time of removing a virtual device's app is in the time of the test's clock`() async throws {
        try await Self.run { test in
            try await Self.advance("P3D", test)
            // By the service's clock, this time is three days after the advance.
            let since = UInt64(Date().timeIntervalSince1970 * 1000) + 1
            try await Self.makeDevice(#"{"kind":"removed","since":\#(since)}"#, test)
            try await Self.advance("PT1H", test)
            let answer = try await Self.send("", test)
            #expect(answer["reason"] as? String == "Unregistered")
            #expect((answer["timestamp"] as? NSNumber)?.uint64Value == since)
        }
    }

    @Test func `The expiration of a notification without a provider is in the time of the test's clock`() async throws {
        try await Self.run { test in
            try await Self.advance("P3D", test)
            try await Self.makeDevice(#"{"kind":"offline"}"#, test)
            let id = "00000000-0000-4000-8000-000000000001"
            let expiration = UInt64(Date().timeIntervalSince1970) + 3600
            let answer = try await Self.send(#","id":"\#(id)","expiration":\#(expiration)"#, test)
            #expect(answer["status"] as? Int == 200)
            try await Self.advance("PT50M", test)
            #expect(try await Self.events(id, test) == ["accepted", "stored"])
            try await Self.advance("PT11M", test)
            #expect(try await Self.events(id, test) == ["accepted", "stored", "expired"])
        }
    }

    @Test func `The delivery log has the service's time, and removes entries by it`() async throws {
        try await Self.run { test in
            let provider = try await test.connectProvider()
            let headers = ProviderHeaders(try await test.makeDeviceToken(), token: try test.providerToken())
            let first = "00000000-0000-4000-8000-000000000001"
            #expect(try await provider.send(headers.adding("apns-id", first).fields).status == 200)
            try await Self.advance("PT30M", test)
            let second = "00000000-0000-4000-8000-000000000002"
            #expect(try await provider.send(headers.adding("apns-id", second).fields).status == 200)
            let log = try await test.ask("GET", "/v1/log?id=\(second)").text
            let time = try required(log.firstMatch(of: /"time":(\d+)/).flatMap { UInt64($0.1) })
            #expect(time > UInt64(Date().addingTimeInterval(29 * 60).timeIntervalSince1970 * 1000))
            #expect(try await !Self.events(first, test).isEmpty)
            try await Self.advance("P60D", test)
            #expect(try await !Self.events(first, test).contains("accepted"))
            await provider.close()
        }
    }

    // MARK: Devices

    private static func withDevice(
        power: String,
        _ test: TestService,
        _ body: (WireClient.Open, String) async throws -> Void,
    ) async throws {
        let client = try await test.connectCourier(try await test.makeDeviceCertificate())
        func headers(_ method: String, _ path: String) -> [(String, String)] {
            [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
        }
        let token = try await register(client)
        let stream = try await client.open(headers("GET", "/1/notifications"), endStream: true)
        // Requests are read in their order, so the stream has begun when this one is answered.
        let state = try await client.send(headers("POST", "/1/state"), body: #"{"power":"\#(power)"}"#)
        #expect(state.status == 204)
        try await body(stream, token)
        await client.close()
    }

    private static func register(_ client: WireClient) async throws -> String {
        let answer = try await client.send(TestService.deviceHeaders("PUT", "/1/apps/com.example.app"), body: "")
        return try required(answer.body.split(separator: "\"").dropFirst(3).first.map(String.init))
    }

    private static func nextNotification(_ device: WireClient.Open) async throws -> String {
        while let line = try await device.nextLine() {
            if !line.isEmpty { return line }
        }
        throw StreamEnded()
    }

    private struct StreamEnded: Error {}
}

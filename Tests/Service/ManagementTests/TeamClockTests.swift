import Delivery
import Foundation
import Management
import Rates
import Service
import Testing

@testable import ServiceTesting

/// What follows the clock of a team, and that another team notices nothing.
@Suite("The clock of a team", .timeLimit(.minutes(2))) struct TeamClockTests {
    /// A team with one app and one virtual device.
    private struct Team {
        let id: String
        let topic: String
        let made: MadeFixture
        let test: TestService

        init(_ id: String, device: String, _ test: TestService) async throws {
            self.id = id
            self.test = test
            topic = "com.example.\(id.lowercased())"
            let document =
                #"{"teams":[{"teamID":"\#(id)","apps":["\#(topic)"],"devices":[{"name":"phone",\#(device)}]}]}"#
            made = try MadeFixture(await test.ask("POST", "/v1/fixtures", body: document))
        }

        /// The headers of a push to the device, with a new provider token.
        func headers() throws -> ProviderHeaders {
            ProviderHeaders(
                try made.device("phone", bundleID: topic).token, topic: topic, token: try made.providerToken())
        }

        func advance(_ duration: String) async throws {
            let answer = try await test.ask("POST", "/v1/clock", body: #"{"team":"\#(id)","advance":"\#(duration)"}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }

        /// The outcomes of the team's requests in the journal.
        func outcomes() async throws -> [String] {
            try await requests().compactMap { $0["outcome"] as? String }
        }

        func requests() async throws -> [[String: Any]] {
            let answer = try await test.ask("GET", "/v1/requests?team=\(id)")
            return try required(JSONSerialization.jsonObject(with: answer.body) as? [[String: Any]])
        }

        /// Makes a channel that keeps its newest broadcast.
        func makeChannel() async throws -> String {
            let document = #"{"bundleID":"\#(topic)","messageStoragePolicy":1}"#
            let answer = try await test.ask("POST", "/v1/channels", body: document)
            return try required(answer.problem?["channelID"] as? String)
        }

        /// Sends a broadcast, and returns the status.
        func broadcast(score: Int = 1, to channel: String, _ expiration: String) async throws -> Int {
            let provider = try await test.connectProvider()
            var headers = ChannelHeaders(broadcastTo: channel, bundleID: topic, token: try made.providerToken())
            headers.set("apns-expiration", expiration)
            let body = #"{"aps":{"event":"update","content-state":{"score":\#(score)}}}"#
            let status = try await provider.send(headers.fields, body: body).status
            await provider.close()
            return status
        }

        /// Waits until requests have an outcome.
        func wait(_ outcome: String, count: Int = 1) async throws {
            let answer = try await test.ask(
                "POST", "/v1/requests/wait",
                body: #"{"match":{"team":"\#(id)","outcome":"\#(outcome)"},"count":\#(count),"timeout":"PT60S"}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    /// Runs a service with two teams.
    private static func run(
        device: String = #""behaviour":{"kind":"offline"}"#,
        _ change: (inout Settings) -> Void = { _ in },
        _ body: (Team, Team, TestService) async throws -> Void,
    ) async throws {
        try await TestService.run { settings in
            settings.clock = .virtual
            settings.store = .memory
            change(&settings)
        } _: { test in
            try await body(
                Team("AAAAAAAAAA", device: device, test), Team("BBBBBBBBBB", device: device, test), test)
        }
    }

    private static func now(_ query: String, _ test: TestService) async throws -> Date {
        let reading: ManagementMessages.ClockReading = try await test.administer("GET", "/v1/clock" + query)
        return try Date(reading.now, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    @Test func `A team's clock goes forward, and no other clock does`() async throws {
        try await Self.run { one, other, test in
            let before = Date()
            try await one.advance("PT1H")
            #expect(try await Self.now("?team=\(one.id)", test) >= before.addingTimeInterval(3599.99))
            #expect(try await Self.now("?team=\(other.id)", test) <= Date())
            #expect(try await Self.now("", test) <= Date())
            // A new team with this identifier begins with the service's clock.
            #expect(try await test.ask("DELETE", "/v1/teams/\(one.id)").status == 200)
            #expect(try await test.ask("GET", "/v1/clock?team=\(one.id)").status == 404)
            let again = try await Team(one.id, device: #""behaviour":{"kind":"online"}"#, test)
            #expect(try await Self.now("?team=\(again.id)", test) <= Date())
        }
    }

    @Test(arguments: [
        (#"{"team":"ZZZZZZZZZZ","advance":"PT1H"}"#, 404),
        (#"{"team":"AAAAAAAAAA","advance":"-PT1H"}"#, 400), (#"{"team":7,"advance":"PT1H"}"#, 400),
    ])
    func `An invalid advance is refused`(_ body: String, _ status: Int) async throws {
        try await Self.run { _, _, test in
            let answer = try await test.ask("POST", "/v1/clock", body: body)
            #expect(answer.status == status, "\(answer.text)")
            #expect(try await Self.now("?team=AAAAAAAAAA", test) <= Date())
        }
    }

    @Test func `Without a virtual clock no team's clock can be advanced`() async throws {
        try await Self.run {
            $0.clock = .system
        } _: { one, _, test in
            let body = #"{"team":"\#(one.id)","advance":"PT1H"}"#
            let answer = try await test.ask("POST", "/v1/clock", body: body)
            #expect(answer.status == 409, "\(answer.text)")
        }
    }

    @Test func `The team's provider tokens become too old, on old connections and on new ones`() async throws {
        try await Self.run { one, other, test in
            let (old, others) = (try one.headers(), try other.headers())
            let (first, second) = (try await test.connectProvider(), try await test.connectProvider())
            #expect(try await first.send(old.fields).status == 200)
            #expect(try await second.send(others.fields).status == 200)
            try await one.advance("PT59M")
            #expect(try await first.send(old.fields).status == 200)
            try await one.advance("PT2M")
            for provider in [first, try await test.connectProvider()] {
                #expect(try await provider.send(old.fields).reason == "ExpiredProviderToken")
            }
            #expect(try await second.send(others.fields).status == 200)
            // The limit on new tokens of a connection follows the team's clock too.
            #expect(try await first.send(try one.headers().fields).status == 200)
            #expect(try await second.send(others.fields).status == 200)
        }
    }

    @Test func `The team's notifications expire`() async throws {
        try await Self.run { one, other, test in
            let expiration = "\(Int(Date().addingTimeInterval(3600).timeIntervalSince1970))"
            func send(_ team: Team) async throws {
                let provider = try await test.connectProvider()
                let headers = try team.headers().adding("apns-expiration", expiration)
                #expect(try await provider.send(headers.fields).status == 200)
                await provider.close()
            }
            try await send(one)
            try await send(other)
            try await one.advance("PT59M")
            #expect(try await one.outcomes() == ["stored"])
            try await one.advance("PT2M")
            #expect(try await one.outcomes() == ["expired"])
            #expect(try await other.outcomes() == ["stored"])
            // Of a time in the future, the present offset is added.
            try await send(one)
            #expect(try await one.outcomes() == ["expired", "stored"])
            try await one.advance("PT61M")
            #expect(try await one.outcomes() == ["expired", "expired"])
            #expect(try await other.outcomes() == ["stored"])
        }
    }

    @Test func `An expired notification is not delivered to a device that comes later`() async throws {
        try await Self.run {
            $0.delivery.retention = .seconds(3600)
        } _: { one, other, test in
            for team in [one, other] {
                let provider = try await test.connectProvider()
                #expect(try await provider.send(team.headers().fields).status == 200)
                await provider.close()
            }
            try await one.advance("PT61M")
            #expect(try await one.outcomes() == ["expired"])
            for team in [one, other] {
                let id = try team.made.device("phone", bundleID: team.topic).id
                let online = try await test.ask("PATCH", "/v1/devices/\(id)", body: #"{"behaviour":{"kind":"online"}}"#)
                #expect(online.status == 200, "\(online.text)")
            }
            try await other.wait("delivered")
            #expect(try await one.outcomes() == ["expired"])
        }
    }

    @Test func `The limit on a device token follows the team's clock`() async throws {
        try await Self.run {
            $0.delivery.requestsPerDeviceToken = Rate(burst: 1, perSecond: 1 / 3600)
        } _: { one, other, test in
            let providers = [try await test.connectProvider(), try await test.connectProvider()]
            let headers = [try one.headers(), try other.headers()]
            for (provider, headers) in zip(providers, headers) {
                #expect(try await provider.send(headers.fields).status == 200)
                #expect(try await provider.send(headers.fields).status == 429)
            }
            try await one.advance("PT30M")
            #expect(try await providers[0].send(headers[0].fields).status == 429)
            try await one.advance("PT30M")
            #expect(try await providers[0].send(one.headers().fields).status == 200)
            #expect(try await providers[1].send(headers[1].fields).status == 429)
        }
    }

    @Test func `Silent notifications that were held back are sent`() async throws {
        try await Self.run(device: #""behaviour":{"kind":"online"}"#) { one, other, test in
            for team in [one, other] {
                let provider = try await test.connectProvider()
                let headers = try team.headers().adding("apns-priority", "5").adding("apns-push-type", "background")
                for _ in 0..<4 {
                    let silent = #"{"aps":{"content-available":1}}"#
                    #expect(try await provider.send(headers.fields, body: silent).status == 200)
                }
                try await team.wait("delivered", count: 3)
                try await team.wait("stored")
                await provider.close()
            }
            try await one.advance("PT20M1S")
            try await one.wait("delivered", count: 4)
            #expect(try await other.outcomes() == ["delivered", "delivered", "delivered", "stored"])
        }
    }

    @Test func `Notifications that wait for the device's power are sent`() async throws {
        try await Self.run(device: #""behaviour":{"kind":"online"},"power":"low""#) { one, other, test in
            for team in [one, other] {
                let provider = try await test.connectProvider()
                #expect(try await provider.send(team.headers().fields).status == 200)
                try await team.wait("delivered")
                #expect(try await provider.send(team.headers().adding("apns-priority", "5").fields).status == 200)
                try await team.wait("stored")
                await provider.close()
            }
            try await one.advance("PT31S")
            try await one.wait("delivered", count: 2)
            #expect(try await other.outcomes() == ["delivered", "stored"])
        }
    }

    @Test func `A kept broadcast expires by the team's clock`() async throws {
        try await Self.run { one, other, test in
            // One device with the apps of both teams, which is away while the broadcasts are sent.
            let certificate = try await test.makeDeviceCertificate()
            let away = try await test.connectCourier(certificate)
            var channels: [String] = []
            for team in [one, other] {
                let app = TestService.deviceHeaders("PUT", "/1/apps/\(team.topic)")
                #expect(try await away.send(app, body: "").status == 200)
                channels.append(try await team.makeChannel())
                #expect(try await away.subscribe(to: required(channels.last), app: team.topic).status == 204)
            }
            await away.close()
            let expiration = "\(Int(Date().addingTimeInterval(3600).timeIntervalSince1970))"
            for (team, channel) in zip([one, other], channels) {
                #expect(try await team.broadcast(score: 1, to: channel, expiration) == 200)
                #expect(try await team.outcomes() == ["stored"])
            }
            try await one.advance("PT61M")
            let device = try await test.connectCourier(certificate)
            let stream = try await device.listen()
            let kept = try required(await stream.nextLine())
            #expect(kept.contains(channels[1]) && kept.contains(#""score":1"#), "\(kept)")
            // Of a time in the future, the present offset is added.
            #expect(try await one.broadcast(score: 2, to: channels[0], expiration) == 200)
            let later = try required(await stream.nextLine())
            #expect(later.contains(channels[0]) && later.contains(#""score":2"#), "\(later)")
            await device.close()
        }
    }

    @Test func `The rate of a channel follows the team's clock`() async throws {
        try await Self.run {
            $0.channels.broadcastsPerChannel = Rate(burst: 1, perSecond: 1 / 3600)
        } _: { one, other, test in
            let channels = [try await one.makeChannel(), try await other.makeChannel()]
            for (team, channel) in zip([one, other], channels) {
                #expect(try await team.broadcast(to: channel, "0") == 200)
                #expect(try await team.broadcast(to: channel, "0") == 429)
            }
            try await one.advance("PT1H")
            #expect(try await one.broadcast(to: channels[0], "0") == 200)
            #expect(try await other.broadcast(to: channels[1], "0") == 429)
        }
    }

    @Test func `A Live Activity's device token expires by the clock of the app's team`() async throws {
        try await Self.run { one, other, test in
            let device = try await test.connectCourier(test.makeDeviceCertificate())
            func token(_ team: Team) async throws -> String {
                for path in ["", "/liveactivity/0b1e5b4a-9c0c-4d5e-8f00-0123456789ab"] {
                    let headers = TestService.deviceHeaders("PUT", "/1/apps/\(team.topic)\(path)")
                    let answer = try await device.send(headers, body: "")
                    guard answer.status == 200, !path.isEmpty else { continue }
                    return try required(
                        JSONDecoder().decode([String: String].self, from: Data(answer.body.utf8))["token"])
                }
                throw CancellationError()
            }
            func send(_ token: String, of team: Team) async throws -> WireClient.Answer {
                let provider = try await test.connectProvider()
                let headers = ProviderHeaders(
                    token, topic: "\(team.topic).push-type.liveactivity", token: try team.made.providerToken())
                let answer = try await provider.send(
                    headers.with("apns-push-type", "liveactivity").fields,
                    body: #"{"aps":{"timestamp":1800000000,"event":"update","content-state":{"score":1}}}"#)
                await provider.close()
                return answer
            }
            let tokens = [try await token(one), try await token(other)]
            try await one.advance("PT11H59M")
            #expect(try await send(tokens[0], of: one).status == 200)
            try await one.advance("PT1M")
            let expired = try await send(tokens[0], of: one)
            #expect((expired.status, expired.reason) == (410, "ExpiredToken"))
            // The time of expiration is a moment that the provider knows.
            let timestamp = try required(expired.body.firstMatch(of: /"timestamp":(\d+)/).flatMap { UInt64($0.1) })
            #expect(timestamp <= UInt64(Date().timeIntervalSince1970 * 1000) + 1)
            #expect(try await send(tokens[1], of: other).status == 200)
            // A token that is made now lasts for twelve hours of the team's clock.
            #expect(try await send(token(one), of: one).status == 200)
            await device.close()
        }
    }

    @Test func `The journal shows the team's time, and answers the provider's`() async throws {
        try await Self.run { one, other, test in
            let begin = UInt64(Date().timeIntervalSince1970 * 1000)
            try await one.advance("P1D")
            let removed = #"{"behaviour":{"kind":"removed"}}"#
            for team in [one, other] {
                let id = try team.made.device("phone", bundleID: team.topic).id
                #expect(try await test.ask("PATCH", "/v1/devices/\(id)", body: removed).status == 200)
                let provider = try await test.connectProvider()
                let answer = try await provider.send(team.headers().fields)
                #expect(answer.status == 410)
                let timestamp = try required(answer.body.firstMatch(of: /"timestamp":(\d+)/).flatMap { UInt64($0.1) })
                #expect((begin...UInt64(Date().timeIntervalSince1970 * 1000) + 1).contains(timestamp))
                await provider.close()
            }
            let day: UInt64 = 86_400_000
            let times = try [
                required(try await one.requests().first?["time"] as? NSNumber).uint64Value,
                required(try await other.requests().first?["time"] as? NSNumber).uint64Value,
            ]
            #expect(times[0] >= begin + day)
            #expect(times[1] < begin + day)
        }
    }

    @Test func `Two teams advance their clocks at the same time`() async throws {
        try await Self.run { one, other, test in
            try await withThrowingTaskGroup { group in
                for (team, hours) in [(one, 1), (other, 5)] {
                    group.addTask {
                        let provider = try await test.connectProvider()
                        for round in 1...5 {
                            let end = Date().addingTimeInterval(Double(hours) * 3600 - 60)
                            let headers = try team.headers()
                                .adding("apns-expiration", "\(Int(end.timeIntervalSince1970))")
                            let answer = try await provider.send(headers.fields)
                            #expect(answer.status == 200, "\(answer)")
                            #expect(try await team.outcomes().last == "stored")
                            try await team.advance("PT\(hours)H1S")
                            let outcomes = try await team.outcomes()
                            #expect(outcomes == Array(repeating: "expired", count: round))
                            #expect(try await provider.send(headers.fields).reason == "ExpiredProviderToken")
                            let path = "/v1/requests?team=\(team.id)&status=403"
                            #expect(try await test.ask("DELETE", path).status == 200)
                        }
                        await provider.close()
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await Self.now("", test) <= Date())
        }
    }
}

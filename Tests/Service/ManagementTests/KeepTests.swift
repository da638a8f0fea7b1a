import CommonTesting
import Foundation
import Management
import NIOHTTP1
import Notifications
import Testing

@testable import Service
@testable import ServiceTesting

/// Apps that keep more than the newest notification, over real TLS.
@Suite(.timeLimit(.minutes(2)))
struct KeepTests {
    private func headers(_ method: String, _ path: String) -> [(String, String)] {
        [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
    }

    private func register(_ client: WireClient) async throws -> String {
        let answer = try await client.send(headers("PUT", "/1/apps/com.example.app"), body: "")
        return try required(answer.body.split(separator: "\"").dropFirst(3).first.map(String.init))
    }

    private func push(_ alerts: ClosedRange<Int>, to token: String, _ test: TestService) async throws {
        let client = try await test.connectProvider()
        let headers = ProviderHeaders(token, token: try test.providerToken())
        for alert in alerts {
            let answer = try await client.send(headers.fields, body: #"{"aps":{"alert":"\#(alert)"}}"#)
            #expect(answer.status == 200)
        }
        await client.close()
    }

    private func waiting(_ test: TestService) async throws -> Int? {
        let answer = try await test.ask("GET", "/v1/devices")
        let devices = try JSONDecoder().decode([ManagementMessages.Device].self, from: answer.body)
        return devices.first?.apps.first?.waiting
    }

    @Test(arguments: [StoreChoice.sqlite, .memory])
    func `A device that was offline gets what its app keeps, in its order`(store: StoreChoice) async throws {
        try await TestService.run {
            $0.store = store
        } _: { test in
            let changed = try await test.ask("PATCH", "/v1/apps/com.example.app", body: #"{"keep":120}"#)
            #expect(changed.status == 200 && changed.text.contains(#""keep":120"#), "\(changed.text)")
            let certificate = try await test.makeDeviceCertificate()
            let device = try await test.connectCourier(certificate)
            let token = try await register(device)
            try await push(1...130, to: token, test)
            #expect(try await waiting(test) == 120)

            let stream = try await device.open(headers("GET", "/1/notifications"), endStream: true)
            for alert in 11...130 {
                let line = try required(try await stream.nextLine())
                #expect(line.contains(#""alert":"\#(alert)""#), "\(line)")
                let number = try required(
                    (try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])?["sending"] as? UInt64)
                let answer = try await device.send(
                    headers("POST", "/1/acknowledgements"), body: #"{"sendings":[\#(number)]}"#)
                #expect(answer.status < 300, "\(answer.body)")
            }
            try await wait(while: try await waiting(test) != 0)
            await device.close()
        }
    }

    @Test
    func `A lower number drops the oldest, and an app with an upstream keeps one`() async throws {
        try await TestService.run { test in
            _ = try await test.ask("PATCH", "/v1/apps/com.example.app", body: #"{"keep":10}"#)
            let certificate = try await test.makeDeviceCertificate()
            let device = try await test.connectCourier(certificate)
            let token = try await register(device)
            try await push(1...5, to: token, test)
            #expect(try await waiting(test) == 5)
            let lower = try await test.ask("PATCH", "/v1/apps/com.example.app", body: #"{"keep":2}"#)
            #expect(lower.status == 200)
            try await wait(while: try await waiting(test) != 2)
            let log = try await test.ask("GET", "/v1/log")
            #expect(log.text.split(separator: "\n").count { $0.contains(#""event":"dropped""#) } == 3)
            for keep in ["0", "1001", "-1", "1.5", "\"2\"", "null"] {
                let refused = try await test.ask("PATCH", "/v1/apps/com.example.app", body: #"{"keep":\#(keep)}"#)
                #expect(refused.status == 400, "\(keep)")
            }
            await device.close()
        }
    }

    @Test
    func `A new app and an app of a fixture keep what they are made with`() async throws {
        try await TestService.run { test in
            let team = try await test.createTeam()
            let made = try await test.ask(
                "POST", "/v1/apps", body: #"{"team":"\#(team)","bundleID":"com.example.till","keep":7}"#)
            #expect(made.status == 200 && made.text.contains(#""keep":7"#), "\(made.text)")
            let one = try await test.ask(
                "POST", "/v1/apps", body: #"{"team":"\#(team)","bundleID":"com.example.one"}"#)
            #expect(one.text.contains(#""keep":1"#))
            let shown = try await test.ask("GET", "/v1/apps/com.example.till")
            #expect(shown.text.contains(#""keep":7"#))
            let fixture = try await test.ask(
                "POST", "/v1/fixtures",
                body: """
                    {"teams":[{"apps":[{"bundleID":"com.example.shop","keep":3},"com.example.other"],
                     "devices":[{"name":"phone","apps":["com.example.shop"],"behaviour":{"kind":"offline"}}]}]}
                    """)
            #expect(fixture.status == 200, "\(fixture.text)")
            #expect(fixture.text.contains(#""keep":3"#) && fixture.text.contains(#""com.example.other""#))
            let all = try await test.ask("GET", "/v1/apps")
            #expect(all.text.contains(#""keep":3"#))
            let refused = try await test.ask(
                "POST", "/v1/fixtures", body: #"{"teams":[{"apps":[{"bundleID":"com.example.bad","keep":0}]}]}"#)
            #expect(refused.status == 400 && refused.text.contains("/teams/0/apps/0/keep"), "\(refused.text)")
        }
    }
}

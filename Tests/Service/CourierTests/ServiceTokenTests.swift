import CommonTesting
import Foundation
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// Device tokens of services, over the wire (docs/device-protocol.md).
@Suite(.timeLimit(.minutes(3)))
struct ServiceTokenTests {
    static let services = TopicKind.allCases.filter { $0 != .app }

    /// A provider and a device with one app.
    private struct Rig {
        let test: TestService
        let provider: WireClient
        let device: WireClient
        let token: String

        init(_ test: TestService) async throws {
            self.test = test
            provider = try await test.connectProvider()
            device = try await test.connectRegistered().client
            token = try test.providerToken()
        }

        /// - Parameter service: nil for the app's own device token.
        func deviceToken(_ service: TopicKind?) async throws -> String {
            let path = "/1/apps/\(test.bundleID)" + (service?.serviceName.map { "/\($0)" } ?? "")
            let answer = try await device.send(TestService.deviceHeaders("PUT", path), body: "")
            #expect(answer.status == 200, "\(answer.body)")
            return try required(JSONDecoder().decode([String: String].self, from: Data(answer.body.utf8))["token"])
        }

        func send(_ deviceToken: String, to kind: TopicKind) async throws -> WireClient.Answer {
            try await provider.send(
                ProviderHeaders(deviceToken, topic: test.bundleID + kind.suffix, token: token).fields)
        }
    }

    @Test(arguments: services)
    func `A service's device token serves its own topic and no other`(service: TopicKind) async throws {
        try await TestService.run { test in
            let rig = try await Rig(test)
            let token = try await rig.deviceToken(service)
            #expect(try await rig.deviceToken(service) == token)
            #expect(try await rig.deviceToken(nil) != token)
            for kind in TopicKind.allCases {
                let answer = try await rig.send(token, to: kind)
                if kind == service {
                    #expect(answer.status == 200)
                } else {
                    #expect((answer.status, answer.reason) == (400, "DeviceTokenNotForTopic"))
                }
            }
        }
    }

    @Test(arguments: [false, true])
    func `The app's own device token serves all topics unless tokens are by service`(isStrict: Bool) async throws {
        try await TestService.run {
            $0.tokensByService = isStrict
        } _: { test in
            let rig = try await Rig(test)
            let token = try await rig.deviceToken(nil)
            for kind in TopicKind.allCases {
                let answer = try await rig.send(token, to: kind)
                #expect(answer.status == (kind == .app || !isStrict ? 200 : 400))
                if answer.status != 200 { #expect(answer.reason == "DeviceTokenNotForTopic") }
            }
        }
    }

    @Test func `A service's device token ends with the app's`() async throws {
        try await TestService.run { test in
            let rig = try await Rig(test)
            let first = try await rig.deviceToken(.voip)
            _ = try await rig.device.send(TestService.deviceHeaders("DELETE", "/1/apps/\(test.bundleID)"), body: "")
            #expect(try await rig.send(first, to: .voip).reason == "Unregistered")
            // The app is there again as soon as it asks for any token.
            #expect(try await rig.deviceToken(.voip) == first)
            #expect(try await rig.send(first, to: .voip).status == 200)
            _ = try await rig.device.send(TestService.deviceHeaders("POST", "/1/reset"), body: "")
            #expect(try await rig.deviceToken(.voip) != first)
            #expect(try await rig.send(first, to: .voip).reason == "Unregistered")
        }
    }

    @Test func `The delivery log has the device token that the provider used`() async throws {
        try await TestService.run { test in
            let rig = try await Rig(test)
            let token = try await rig.deviceToken(.complication)
            let sent = try await rig.send(token, to: .complication)
            let id = try required(sent.headers["apns-id"]?.first)
            let text = try await firstValue {
                let log = try await test.manage("GET", "/v1/log?id=\(id)")
                let text = String(decoding: log.body, as: UTF8.self)
                return text.contains("accepted") ? text : nil
            }
            #expect(text.contains(token))
        }
    }

    @Test func `Unknown services and methods are refused`() async throws {
        try await TestService.run { test in
            let rig = try await Rig(test)
            for (method, path, status, reason) in [
                ("PUT", "/1/apps/\(test.bundleID)/mdm", 404, "BadPath"),
                ("PUT", "/1/apps/\(test.bundleID)/voip/", 404, "BadPath"),
                ("PUT", "/1/apps/\(test.bundleID)/", 404, "BadPath"),
                ("DELETE", "/1/apps/\(test.bundleID)/voip", 405, "MethodNotAllowed"),
                ("PUT", "/1/apps/com.example.other/voip", 400, "BadTopic"),
            ] {
                let answer = try await rig.device.send(TestService.deviceHeaders(method, path), body: "")
                #expect((answer.status, answer.reason) == (status, reason))
            }
        }
    }

    @Test func `An answer to HEAD has no content`() async throws {
        try await TestService.run { test in
            let rig = try await Rig(test)
            let answer = try await rig.device.send(TestService.deviceHeaders("HEAD", "/1/crl"), body: "")
            #expect(answer.status == 405 && answer.body.isEmpty)
        }
    }

    @Test func `A binary notification needs the app's own token, as its topic is the app's`() async throws {
        try await TestService.run { test in
            let rig = try await Rig(test)
            let token = try required(Hexadecimal.bytes(try await rig.deviceToken(.voip)))
            let client = try await ByteClient.connect(
                port: test.port(\.binary), authorityFile: test.description.ca,
                certificate: try await test.makeCertificate("development"))
            // Command 1 (Guide, 3.2.2): identifier 7, no expiration.
            try await client.write([1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 32] + token + [0, 2] + Array("{}".utf8))
            #expect(await client.read(6) == [8, 8, 0, 0, 0, 7])
        }
    }

    @Test func `A fixture names tokens of services by topic`() async throws {
        let named = "00fc13adff785122"
        try await TestService.run {
            $0.store = .memory
            $0.tokensByService = true
        } _: { test in
            let answer = try await test.ask(
                "POST", "/v1/fixtures",
                body: """
                    {"teams":[{"apps":["com.example.shop"],"devices":[{"tokens":{"com.example.shop.voip":"\(named)",
                    "com.example.shop":"\(named)"}}]}]}
                    """)
            let made = try MadeFixture(answer)
            let devices = try required(made.team["devices"] as? [[String: Any]])
            let tokens = try required(devices.first?["tokens"] as? [String: String])
            #expect(Set(tokens.keys) == Set(TopicKind.allCases.map { "com.example.shop\($0.suffix)" }))
            let client = try await test.connectProvider()
            let jwt = try made.providerToken()
            for (token, kind, status) in [
                (named, TopicKind.voip, 200), (named, .app, 200), (named, .widgets, 400),
                (try required(tokens["com.example.shop.push-type.widgets"]), .widgets, 200),
            ] {
                let headers = ProviderHeaders(token, topic: "com.example.shop\(kind.suffix)", token: jwt)
                #expect(try await client.send(headers.fields).status == status)
            }
            let wrong = try await test.ask(
                "POST", "/v1/fixtures",
                body: #"{"teams":[{"apps":["a.b"],"devices":[{"tokens":{"a.b.mdm":"0011223344556677"}}]}]}"#)
            #expect(wrong.status == 400)
            #expect(wrong.problem?["pointer"] as? String == "/teams/0/devices/0/tokens/a.b.mdm")
        }
    }
}

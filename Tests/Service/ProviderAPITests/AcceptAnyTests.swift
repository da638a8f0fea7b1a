import CommonTesting
import Crypto
import Foundation
import Notifications
import Service
import Testing
import Trust

@testable import ServiceTesting

/// `--accept any`: what the service does not know is made at first sight, in the development environment.
@Suite("Accept any", .timeLimit(.minutes(2)))
struct AcceptAnyTests {
    private static let topic = "com.example.unknown"
    private static let token = "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad"
    private static let provider = Provider(teamID: "UNKNOWN123", keyID: "NEWKEY1234", key: .init())

    private static func run(
        _ change: (inout Settings) -> Void = { _ in },
        _ body: (TestService) async throws -> Void,
    ) async throws {
        try await TestService.runWrapping({ $0 }) {
            $0.accept = .any
            change(&$0)
        } _: {
            try await body($0)
        }
    }

    private static func headers(
        _ token: String = AcceptAnyTests.token,
        topic: String = AcceptAnyTests.topic,
        from provider: Provider? = nil,
    ) throws -> ProviderHeaders {
        ProviderHeaders(token, topic: topic, token: try provider?.token() ?? Self.authorization.get())
    }

    /// The provider token of all requests that need no other: a connection may not change it often.
    private static let authorization = Result { try provider.token() }

    private static func only(_ requests: [[String: Any]]) throws -> [String: Any] {
        #expect(requests.count == 1)
        return try required(requests.first)
    }

    private static func device(_ token: String, _ test: TestService) async throws -> [String: Any]? {
        let answer = try await test.ask("GET", "/v1/devices")
        let devices = try required(JSONSerialization.jsonObject(with: answer.body) as? [[String: Any]])
        return devices.first { $0["name"] as? String == token }
    }

    // MARK: Making

    @Test func `An unknown team, key, topic and device token are made, and the notification is delivered`() async throws
    {
        try await Self.run { test in
            let client = try await test.connectProvider()
            let answer = try await client.send(Self.headers().fields)
            #expect(answer.status == 200, "\(answer.body)")
            let wait = try await test.ask(
                "POST", "/v1/requests/wait",
                body: #"{"match":{"team":"UNKNOWN123","topic":"com.example.unknown","outcome":"delivered"}}"#)
            #expect(wait.status == 200, "\(wait.text)")
            let request = try Self.only(try await test.requests())
            #expect(request["keyID"] as? String == "NEWKEY1234")
            #expect(request["unverified"] as? Bool == true)
            #expect(request["token"] as? String == Self.token)
            let team = try await test.ask("GET", "/v1/teams/UNKNOWN123")
            #expect(team.problem?["bundleIDs"] as? [String] == [Self.topic])
            let device = try required(try await Self.device(Self.token, test))
            #expect(device["connected"] as? Bool == true && device["virtual"] as? Bool == true)
            #expect(request["device"] as? String == device["deviceID"] as? String)
            let log = try await test.ask("GET", "/v1/log?token=\(Self.token)").text
            #expect(log.contains(#""event":"acknowledged""#), "\(log)")
            let apps = try required(device["apps"] as? [[String: Any]])
            #expect(apps.map { $0["token"] as? String } == [Self.token])
            await client.close()
        }
    }

    @Test func `Requests that come at once are answered in their order, and make each thing once`() async throws {
        try await Self.run { test in
            let burst = try (0..<20).map { number in
                try Self.headers(topic: "com.example.app\(number % 2)").fields
            }
            let client = try await WireClient.connect(
                port: test.port(\.provider), authorityFile: test.description.ca, burst: [burst[0]])
            #expect(try await client.burst().map(\.status) == [200])
            var answers: [Int] = []
            try await withThrowingTaskGroup(of: Int.self) { group in
                for headers in burst { group.addTask { try await client.send(headers).status } }
                for try await status in group { answers.append(status) }
            }
            #expect(answers == Array(repeating: 200, count: 20))
            let team = try await test.ask("GET", "/v1/teams/UNKNOWN123")
            #expect(team.problem?["bundleIDs"] as? [String] == ["com.example.app0", "com.example.app1"])
            // One device, with both apps: a report says that APNs would not have accepted this.
            let device = try required(try await Self.device(Self.token, test))
            #expect((device["apps"] as? [Any])?.count == 2)
            await client.close()
        }
    }

    @Test(arguments: [8, 31, 32, 33, 80, 100, 101, 200])
    func `A device token may have any length that APNs could have given out`(_ bytes: Int) async throws {
        try await Self.run { test in
            let client = try await test.connectProvider()
            let token = String(repeating: "5e", count: bytes)
            for text in [token, token.uppercased()] {
                let answer = try await client.send(Self.headers(text).fields)
                #expect(answer.status == 200, "\(answer.body)")
            }
            let devices = Set(try await test.requests().compactMap { $0["device"] as? String })
            #expect(devices.count == 1)
            await client.close()
        }
    }

    @Test(arguments: [
        "5e5e5e5e5e5e5e", String(repeating: "5e", count: 201), "5e5e5e5e5e5e5e5e5", String(repeating: "zz", count: 32),
    ])
    func `Other device tokens are refused`(_ token: String) async throws {
        try await Self.run { test in
            let client = try await test.connectProvider()
            #expect(try await client.send(Self.headers(token).fields).reason == "BadDeviceToken")
            await client.close()
        }
    }

    @Test func `The topic of a service makes the app, and may have the service's payload`() async throws {
        try await Self.run { test in
            let client = try await test.connectProvider()
            var push = WirePush(
                token: Self.token, topic: Self.topic + ".voip", authorization: try Self.provider.token())
            push["apns-push-type"] = "voip"
            push.payload(bytes: 5120)
            #expect(try await client.send(push).status == 200)
            push.payload(bytes: 5121)
            #expect(try await client.send(push).reason == "PayloadTooLarge")
            let team = try await test.ask("GET", "/v1/teams/UNKNOWN123")
            #expect(team.problem?["bundleIDs"] as? [String] == [Self.topic])
            await client.close()
        }
    }

    @Test func `A known team's unknown topic is made, unless its key is for other apps`() async throws {
        try await Self.run { test in
            let client = try await test.connectProvider()
            let known = ProviderHeaders(Self.token, topic: Self.topic, token: try test.providerToken())
            #expect(try await client.send(known.fields).status == 200)
            #expect(try Self.only(try await test.requests())["unverified"] == nil)
            await client.close()
            let other = try await test.connectProvider()
            let limited = try await test.limitedToken(bundleIDs: [test.bundleID])
            let headers = ProviderHeaders(Self.token, topic: "com.example.second", token: limited)
            #expect(try await other.send(headers.fields).reason == "TopicDisallowed")
            await other.close()
        }
    }

    @Test func `The management of channels makes the app too`() async throws {
        try await Self.run { test in
            let client = try await test.connectChannels()
            let headers = ChannelHeaders(
                "POST", bundleID: Self.topic, token: try Self.provider.token())
            #expect(try await client.send(headers.fields, body: headers.body).status == 201)
            #expect(try await client.send(headers.fields, body: headers.body).status == 201)
            // Somebody uses this app.
            _ = try await test.createKey(of: required(test.description.key).teamID)
            let wrong = ChannelHeaders("POST", bundleID: test.bundleID, token: try Self.provider.token())
            #expect(try await client.send(wrong.fields, body: wrong.body).reason == "TopicMismatch")
            let requests = try await test.requests("?protocol=channels&team=UNKNOWN123")
            #expect(requests.map { $0["unverified"] as? Bool } == [true, true, true])
            await client.close()
        }
    }

    // MARK: Judged as always

    @Test func `Everything else is judged as always`() async throws {
        try await Self.run { test in
            let client = try await test.connectProvider()
            let headers = try Self.headers()
            #expect(try await client.send(headers.with("apns-priority", "7").fields).reason == "BadPriority")
            // A request that is refused in any case makes nothing.
            #expect(try await test.ask("GET", "/v1/teams/UNKNOWN123").status == 404)
            #expect(try await client.send(headers.fields, body: "[]").reason == "PayloadEmpty")
            #expect(try await client.send(headers.with("apns-topic", nil).fields).reason == "MissingTopic")
            let long = #"{"aps":{"alert":"\#(String(repeating: "x", count: 4096))"}}"#
            #expect(try await client.send(headers.fields, body: long).reason == "PayloadTooLarge")
            #expect(
                try await client.send(headers.with("apns-push-type", "voip").fields).reason == "TopicDisallowed")
            #expect(try await client.send(headers.with("apns-expiration", "0").fields).status == 200)
            await client.close()
        }
    }

    @Test func `A provider token has to be well formed and in its hour`() async throws {
        try await Self.run { test in
            let provider = Self.provider
            for (token, reason) in [
                (try provider.token(issuedSecondsAgo: 4000), "ExpiredProviderToken"),
                (try provider.token(signature: { $0.rawRepresentation.dropLast() }), "InvalidProviderToken"),
                (try provider.token(header: #"{"alg":"HS256","kid":"NEWKEY1234"}"#), "InvalidProviderToken"),
                (try provider.with(teamID: "no team").token(), "InvalidProviderToken"),
            ] {
                let client = try await test.connectProvider()
                let headers = ProviderHeaders(Self.token, topic: Self.topic, token: token)
                #expect(try await client.send(headers.fields).reason == reason)
                await client.close()
            }
            #expect(try await test.ask("GET", "/v1/teams/UNKNOWN123").status == 404)
        }
    }

    @Test func `A key that is known has to have signed, and a revoked one is refused`() async throws {
        try await Self.run { test in
            let team = try required(test.description.key).teamID
            let made = try await test.createKey(of: team)
            let forged = made.with(key: .init())
            let client = try await test.connectProvider()
            #expect(try await client.send(Self.headers(from: forged).fields).reason == "InvalidProviderToken")
            #expect(try await client.send(Self.headers(from: made).fields).status == 200)
            #expect(try await test.ask("DELETE", "/v1/keys/\(made.keyID)").status == 200)
            #expect(try await client.send(Self.headers(from: made).fields).reason == "InvalidProviderToken")
            await client.close()
        }
    }

    @Test func `The app of the first start goes to the first team that sends to it`() async throws {
        try await Self.run { test in
            let client = try await test.connectProvider()
            for _ in 0..<2 {
                #expect(try await client.send(Self.headers(topic: test.bundleID).fields).status == 200)
            }
            await client.close()
            let other = try await test.connectProvider()
            let known = ProviderHeaders(Self.token, topic: test.bundleID, token: try test.providerToken())
            #expect(try await other.send(known.fields).reason == "TopicDisallowed")
            await other.close()
        }
    }

    @Test func `The app of the first start stays with its team if somebody uses it`() async throws {
        try await Self.run { test in
            _ = try await test.makeDeviceToken()
            let client = try await test.connectProvider()
            #expect(try await client.send(Self.headers(topic: test.bundleID).fields).reason == "TopicDisallowed")
            await client.close()
        }
    }

    @Test func `An app of another team is refused`() async throws {
        try await Self.run { test in
            // Somebody uses it.
            _ = try await test.createKey(of: required(test.description.key).teamID)
            let client = try await test.connectProvider()
            let answer = try await client.send(Self.headers(topic: test.bundleID).fields)
            #expect(answer.reason == "TopicDisallowed")
            await client.close()
        }
    }

    @Test func `A connection still serves one team`() async throws {
        try await Self.run { test in
            let client = try await test.connectProvider()
            #expect(try await client.send(Self.headers().fields).status == 200)
            let other = Self.provider.with(teamID: "OTHERTEAM1")
            #expect(try await client.send(Self.headers(from: other).fields).reason == "InvalidProviderToken")
            await client.close()
        }
    }

    @Test(arguments: [Environment.production, .development])
    func `Without it, and in production, all of this is refused`(_ environment: Environment) async throws {
        try await TestService.run(environment: environment) {
            $0.accept = environment == .production ? .any : .known
        } _: { test in
            let client = try await test.connectProvider()
            #expect(try await client.send(Self.headers().fields).reason == "InvalidProviderToken")
            let known = ProviderHeaders(Self.token, topic: test.bundleID, token: try test.providerToken())
            #expect(try await client.send(known.fields).reason == "BadDeviceToken")
            await client.close()
        }
    }

    // MARK: A later key

    @Test func `A later key with the identifier has to match what it has signed, and is then required`() async throws {
        try await Self.run { test in
            let client = try await test.connectProvider()
            #expect(try await client.send(Self.headers().fields).status == 200)
            func create(_ key: P256.Signing.PrivateKey) async throws -> TestService.ManagementAnswer {
                let body = ["team": "UNKNOWN123", "keyID": "NEWKEY1234", "privateKey": key.pemRepresentation]
                return try await test.ask(
                    "POST", "/v1/keys", body: String(decoding: JSONEncoder().encode(body), as: UTF8.self))
            }
            let other = P256.Signing.PrivateKey()
            let refused = try await create(other)
            #expect(refused.status == 409)
            #expect((refused.problem?["detail"] as? String)?.contains("another key has signed") == true)
            #expect(try await create(Self.provider.key).status == 200)
            #expect(try await client.send(Self.headers().fields).status == 200)
            let forged = Self.provider.with(key: other)
            #expect(try await client.send(Self.headers(from: forged).fields).reason == "InvalidProviderToken")
            #expect(try await test.requests("?status=200").map { $0["unverified"] as? Bool } == [true, nil])
            await client.close()
        }
    }

    @Test func `A fixture with the identifier of an unknown key has to match too, or to replace the team`() async throws
    {
        try await Self.run { test in
            let client = try await test.connectProvider()
            #expect(try await client.send(Self.headers().fields).status == 200)
            let fixture = #"{"teams":[{"teamID":"UNKNOWN123","keys":[{"keyID":"NEWKEY1234"}]}]}"#
            #expect(try await test.ask("POST", "/v1/fixtures", body: fixture).status == 409)
            #expect(try await test.ask("POST", "/v1/fixtures?replace=true", body: fixture).status == 200)
            #expect(try await client.send(Self.headers().fields).reason == "InvalidProviderToken")
            await client.close()
        }
    }

    // MARK: Devices

    @Test func `A test may change the device of a token`() async throws {
        try await Self.run { test in
            let client = try await test.connectProvider()
            let headers = try Self.headers()
            #expect(try await client.send(headers.fields).status == 200)
            let id = try required(try await Self.device(Self.token, test)?["deviceID"] as? String)
            func behave(_ behaviour: String) async throws {
                let answer = try await test.ask("PATCH", "/v1/devices/\(id)", body: #"{"behaviour":\#(behaviour)}"#)
                #expect(answer.status == 200, "\(answer.text)")
            }
            func wait(_ number: Int, _ outcome: String) async throws {
                let answer = try await test.ask(
                    "POST", "/v1/requests/wait", body: #"{"match":{"after":\#(number - 1),"outcome":"\#(outcome)"}}"#)
                #expect(answer.status == 200, "\(answer.text)")
            }
            try await behave(#"{"kind":"offline"}"#)
            #expect(try await client.send(headers.fields).status == 200)
            try await wait(2, "stored")
            try await behave(#"{"kind":"online"}"#)
            try await wait(2, "delivered")
            try await behave(#"{"kind":"removed","since":1600000000000}"#)
            let gone = try await client.send(headers.fields)
            #expect(gone.status == 410 && gone.reason == "Unregistered" && gone.body.contains("1600000000000"))
            try await behave(#"{"kind":"expired"}"#)
            #expect(try await client.send(headers.fields).reason == "ExpiredToken")
            try await behave(#"{"kind":"online"}"#)
            #expect(try await client.send(headers.fields).status == 200)
            #expect(try await test.ask("DELETE", "/v1/devices/\(id)").status == 200)
            // The token is new again.
            #expect(try await client.send(headers.fields).status == 200)
            let next = try required(try await Self.device(Self.token, test)?["deviceID"] as? String)
            #expect(next != id)
            await client.close()
        }
    }

    @Test func `Silent notifications are limited, and what exceeds the limit is stored`() async throws {
        try await Self.run { test in
            let client = try await test.connectProvider()
            let headers = try Self.headers().with("apns-push-type", "background").with("apns-priority", "5")
            for _ in 1...4 {
                let answer = try await client.send(headers.fields, body: #"{"aps":{"content-available":1}}"#)
                #expect(answer.status == 200, "\(answer.body)")
            }
            let wait = try await test.ask("POST", "/v1/requests/wait", body: #"{"match":{"outcome":"stored"}}"#)
            #expect(wait.status == 200, "\(wait.text)")
            await client.close()
        }
    }

    @Test func `Deleting the team deletes what was made`() async throws {
        try await Self.run { test in
            let client = try await test.connectProvider()
            #expect(try await client.send(Self.headers().fields).status == 200)
            #expect(try await test.ask("DELETE", "/v1/teams/UNKNOWN123").status == 200)
            #expect(try await Self.device(Self.token, test) == nil)
            #expect(try await test.requests().isEmpty)
            #expect(try await client.send(Self.headers().fields).status == 200)
            await client.close()
        }
    }

    @Test func `A fixture may name a token that was seen before`() async throws {
        try await Self.run { test in
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(Self.token, topic: test.bundleID, token: try test.providerToken())
            #expect(try await client.send(headers.fields).status == 200)
            let team = try required(test.description.key).teamID
            let body = """
                {"team":"\(team)","name":"phone","behaviour":{"kind":"offline"},"tokens":{"\(test.bundleID)":"\(Self.token)"}}
                """
            #expect(try await test.ask("POST", "/v1/devices", body: body).status == 200)
            #expect(try await Self.device(Self.token, test) == nil)
            #expect(try await client.send(headers.fields).status == 200)
            let wait = try await test.ask(
                "POST", "/v1/requests/wait", body: #"{"match":{"after":1,"outcome":"stored"}}"#)
            #expect(wait.status == 200, "\(wait.text)")
            await client.close()
        }
    }

    @Test(arguments: AcceptChoice.allCases)
    func `A token of production says where it belongs`(_ accept: AcceptChoice) async throws {
        try await Self.run {
            $0.accept = accept
        } _: { test in
            let token = try await test.in(.production).makeDeviceToken()
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(token, topic: test.bundleID, token: try test.providerToken())
            let answer = try await client.send(headers.fields)
            #expect(answer.reason == "BadDeviceToken")
            let place = try required(test.description.production).provider
            #expect(answer.body.contains("one of the production environment: send it to \(place)"), "\(answer.body)")
            await client.close()
        }
    }

    // MARK: Tools

    @Test func `Rehearsals and the report are about such requests too`() async throws {
        try await Self.run { test in
            let rehearsal = """
                {"rules":[{"match":{"team":"UNKNOWN123"},"when":{"first":1},"fault":{"answer":{"reason":"ServiceUnavailable"}}}]}
                """
            #expect(try await test.ask("POST", "/v1/rehearsals", body: rehearsal).status == 200)
            let client = try await test.connectProvider()
            let headers = try Self.headers().with("apns-push-type", "alert")
            #expect(try await client.send(headers.fields, body: #"{"aps":{"alert":"1"}}"#).status == 503)
            #expect(try await client.send(headers.fields, body: #"{"aps":{"alert":"2"}}"#).status == 200)
            let second = headers.with("apns-topic", "com.example.second")
            #expect(try await client.send(second.fields, body: #"{"aps":{"alert":"3"}}"#).status == 200)
            await client.close()
            let report = try await test.ask("GET", "/v1/reports?team=UNKNOWN123")
            let findings = (report.problem?["findings"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
            let expected = [
                "sender-not-verified", "topic-not-known", "device-token-not-known", "device-token-for-several-apps",
            ]
            #expect(Array(findings.suffix(4)) == expected, "\(report.text)")
        }
    }

    @Test(.startsPrograms) func `curl with a new key of an unknown team is accepted`() async throws {
        try await Self.run { test in
            let place = try required(test.description.development).provider.replacing("127.0.0.1", with: "localhost")
            let response = try await Curl.request(
                "POST", "https://\(place)/3/device/\(Self.token)", ca: test.description.ca,
                headers: [
                    ("authorization", "bearer \(try Self.provider.token())"), ("apns-topic", Self.topic),
                    ("apns-push-type", "alert"),
                ], body: Array(#"{"aps":{"alert":"Hello"}}"#.utf8))
            #expect(response.status == 200 && response.httpVersion == "2")
        }
    }
}

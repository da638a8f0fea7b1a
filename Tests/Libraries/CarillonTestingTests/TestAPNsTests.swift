import APNSProvider
@testable import CarillonTesting
import Foundation
import NIOCore
import NIOPosix
import Synchronization
import Testing

/// A test suite as that of a backend in Swift, which uses the provider library.
@Suite("A push notification service inside a test", .timeLimit(.minutes(2)), .apns)
struct TestAPNsTests {
    private func send(_ text: String, to device: TestDevice, of team: TestTeam) async throws -> PushReceipt {
        let notification = try PushNotification(topic: team.bundleID, APS(alert: APS.Alert(body: text)))
        let token = try #require(DeviceToken(try device.token(for: team.bundleID)))
        return try await ProviderClient.withClient(
            credentials: team.credentials, environment: TestAPNs.current.environment
        ) { client in
            try await client.send(notification, to: token)
        }
    }

    @Test
    func `A notification that was sent is delivered, and is in the journal`() async throws {
        let team = try await TestAPNs.current.makeTeam()
        let receipt = try await send("Your order is ready", to: team.devices[0], of: team)
        let requests = try await team.wait(for: RequestPattern(outcome: .delivered))
        #expect(requests.count == 1)
        #expect(requests.first?.apnsID == "\(receipt.apnsID)")
        #expect(requests.first?.payload == ["aps": ["alert": "Your order is ready"]])
        #expect(requests.first?.topic == team.bundleID)
    }

    @Test
    func `A team of the test has devices, requests and a report`() async throws {
        let apns = try await TestAPNs.team()
        #expect(apns.url == "https://\(apns.host):\(apns.port)")
        let token = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
        let phone = try await apns.device(token: token)
        #expect(phone.token == token)
        let away = try await apns.device(.offline, name: "away")
        for device in [phone, away] { _ = try await send("Hello", to: device, of: apns) }
        try await apns.wait(for: RequestPattern(token: token, outcome: .delivered))
        try await apns.wait(for: RequestPattern(token: away.token, outcome: .stored))
        let hello: JSONValue = ["aps": ["alert": "Hello"]]
        #expect(try await apns.requests().count == 2)
        #expect(try await apns.requests(RequestPattern(status: 200, payload: hello)).count == 2)
        #expect(try await apns.requests(RequestPattern(payload: ["a+b": "c&d"])).isEmpty)
        #expect(try await apns.report().filter { $0.severity == .error }.map(\.description) == [])
    }

    @Test
    func `A service that runs already is used, is not ended, and has nothing of the test afterwards`() async throws {
        struct Shown: Decodable { let active: Bool }
        try await TestAPNs.run { running in
            let (url, key) = running.managementAddress
            let attached = try await TestAPNs(attachingTo: url, key: key)
            #expect(attached.port == running.port && attached.authorityPEM == running.authorityPEM)
            let team = try await attached.makeTeam()
            try await team.rehearse(RehearsalRule(.answer(reason: "BadTopic")))
            await attached.shutDown()
            let rehearsals: [Shown] = try await running.management.ask("GET", "/v1/rehearsals")
            #expect(rehearsals.map(\.active) == [false])
            await #expect(throws: TestAPNsError.self) {
                let _: Ignored = try await running.management.ask("GET", "/v1/teams/\(team.id)")
            }
            _ = try await running.makeTeam()
        }
    }

    @Test
    func `A test that is cancelled leaves nothing in a service that runs already`() async throws {
        try await TestAPNs.run { running in
            let (url, key) = running.managementAddress
            let attached = try await TestAPNs(attachingTo: url, key: key)
            let team = try await attached.makeTeam()
            let test = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                await attached.shutDown()
            }
            await test.value
            await #expect(throws: TestAPNsError.self) {
                let _: Ignored = try await running.management.ask("GET", "/v1/teams/\(team.id)")
            }
        }
    }

    @Test
    func `A service that cannot be used says what to do`() async throws {
        let (url, key) = try TestAPNs.current.managementAddress
        for (url, key, text) in [
            (url, "wrong", "refuses the key: set CARILLON_MANAGEMENT_KEY to its key"),
            (url, "", "needs a key, and CARILLON_MANAGEMENT_KEY is empty or not set: set CARILLON_MANAGEMENT_KEY"),
            ("http://127.0.0.1:1", key, "check that it still runs, and that CARILLON_MANAGEMENT_URL is its address"),
            ("localhost", key, "set it to a URL such as http://localhost:2198"),
            (try TestAPNs.current.url, key, "does not answer ("),
        ] {
            let error = await #expect(throws: TestAPNsError.self) { try await TestAPNs(attachingTo: url, key: key) }
            #expect(error?.code == .refused && error?.cause.contains(text) == true, "\(error?.cause ?? "")")
        }
    }

    @Test
    func `A wait ends at once if the service ends, and says so`() async throws {
        let running = try await TestAPNs()
        let (url, key) = running.managementAddress
        let attached = try await TestAPNs(attachingTo: url, key: key)
        let team = try await attached.makeTeam(devices: [])
        async let failure = #expect(throws: TestAPNsError.self) {
            // Longer than the time limit of this suite.
            try await team.wait(timeout: .seconds(600))
        }
        await running.shutDown()
        // It depends on the moment whether the service still answers.
        let cause = await failure?.cause ?? ""
        #expect(cause.contains("has ended during the wait") || cause.contains("does not answer"), "\(cause)")
        let error = await #expect(throws: TestAPNsError.self) { try await team.requests() }
        #expect(error?.cause.contains("does not answer") == true, "\(error?.cause ?? "")")
        #expect(await attached.sent().first?.contains("does not answer") == true)
    }

    @Test
    func `A service that never answers is given up`() async throws {
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0).get()
        let calls = ManagementCalls(url: "http://127.0.0.1:\(try #require(listener.localAddress?.port))", key: "")
        let error = await #expect(throws: TestAPNsError.self) {
            let _: Ignored = try await calls.ask("GET", "/v1/teams", timeLimit: .milliseconds(50))
        }
        #expect(error?.cause.contains("does not answer (it did not answer in time)") == true, "\(error?.cause ?? "")")
        // It was silent, so the next request has a shorter limit.
        let next = await #expect(throws: TestAPNsError.self) {
            let _: Ignored = try await calls.ask("GET", "/v1/teams")
        }
        #expect(next?.cause.contains("it did not answer in time") == true, "\(next?.cause ?? "")")
        try await listener.close()
    }

    @Test
    func `A wait without any request says where to send`() async throws {
        let apns = try await TestAPNs.team()
        let error = await #expect(throws: TestAPNsError.self) { try await apns.wait(timeout: .zero) }
        #expect(error?.cause.contains("has sent nothing: it has to connect to \(apns.url)") == true)
    }

    @Test
    func `A backend in another process gets all that it has to know`() async throws {
        let team = try await TestAPNs.team()
        let variables = try team.environmentVariables
        #expect(variables["APNS_URL"] == team.url && variables["APNS_TOPIC"] == team.bundleID)
        let (authority, key) = (try #require(variables["APNS_CA_FILE"]), try #require(variables["APNS_KEY_FILE"]))
        #expect(try String(contentsOfFile: authority, encoding: .utf8) == team.authorityPEM)
        #expect(try String(contentsOfFile: key, encoding: .utf8) == team.privateKeyPEM)
        #expect(variables["SSL_CERT_FILE"] == authority)
    }

    @Test(arguments: [false, true])
    func `A failed test shows what the backend sent, and one that passes does not`(fails: Bool) async throws {
        let (test, testCase) = (try #require(Test.current), try #require(Test.Case.current))
        let texts = Mutex<[String]>([])
        // Takes the issues away, so that this test passes.
        let collecting: IssueHandlingTrait = .compactMapIssues { issue in
            texts.withLock { $0 += issue.comments.map(\.rawValue) }
            return nil
        }
        let trait: APNsTrait = .apns
        try await collecting.provideScope(for: test, testCase: testCase) {
            try await trait.provideScope(for: test, testCase: testCase) {
                let apns = try await TestAPNs.team()
                _ = try await send("Hello", to: apns.device(), of: apns)
                try await apns.wait(for: RequestPattern(outcome: .delivered))
                if fails { Issue.record("It fails.") }
            }
        }
        let shown = texts.withLock { $0 }
        guard fails else { return #expect(shown.isEmpty) }
        #expect(shown.count == 2 && shown.first == "It fails.")
        let text = try #require(shown.last)
        #expect(text.hasPrefix("What the backend sent to apns:\n  #1, 200, delivered, topic com.example.test-"))
        #expect(text.hasSuffix(#"payload {"aps":{"alert":"Hello"}}"#))
    }

    @Test
    func `If a test throws, it shows what the backend sent`() async throws {
        struct Failed: Error {}
        let (test, testCase) = (try #require(Test.current), try #require(Test.Case.current))
        let texts = Mutex<[String]>([])
        let collecting: IssueHandlingTrait = .compactMapIssues { issue in
            texts.withLock { $0 += issue.comments.map(\.rawValue) }
            return nil
        }
        let trait: APNsTrait = .apns
        await #expect(throws: Failed.self) {
            try await collecting.provideScope(for: test, testCase: testCase) {
                try await trait.provideScope(for: test, testCase: testCase) {
                    _ = try await TestAPNs.team()
                    throw Failed()
                }
            }
        }
        #expect(texts.withLock { $0 } == ["What the backend sent to apns:\n  nothing"])
    }

    @Test
    func `A wait that times out names the requests that came`() async throws {
        let team = try await TestAPNs.current.makeTeam()
        _ = try await send("Hello", to: team.devices[0], of: team)
        let error = await #expect(throws: TestAPNsError.self) {
            try await team.wait(for: RequestPattern(pushType: "voip"), timeout: .milliseconds(50))
        }
        #expect(error?.code == .timedOut)
        #expect(
            error?.cause.hasPrefix("0 requests matched {\"pushType\":\"voip\"} within 0.05 seconds, instead of 1.")
                == true)
        #expect(error?.cause.contains("\n    pushType is \"alert\", not \"voip\"") == true, "\(error?.cause ?? "")")
    }

    @Test
    func `A device changes its behaviour while the service runs`() async throws {
        let team = try await TestAPNs.current.makeTeam(devices: [.offline, .removed()])
        _ = try await send("Good night", to: team.devices[0], of: team)
        try await team.wait(for: RequestPattern(outcome: .stored))
        try await team.devices[0].behave(.online)
        try await team.wait(for: RequestPattern(outcome: .delivered))
        let error = await #expect(throws: ProviderError.self) {
            try await send("Anybody there?", to: team.devices[1], of: team)
        }
        #expect(error?.rejection?.reason == .unregistered)
    }

    @Test
    func `A broadcast reaches the devices that are subscribed and connected, and is kept for the others`() async throws
    {
        let apns = try TestAPNs.current
        let team = try await apns.makeTeam(devices: [.online, .offline])
        let passing = try await team.makeChannel()
        let keeping = try await team.makeChannel(keepsNewest: true)
        for device in team.devices { try await device.subscribe(to: [passing, keeping], bundleID: team.bundleID) }
        func broadcast(to channel: String) async throws {
            let expiration: PushNotification.Expiration = channel == keeping ? .unspecified : .immediately
            let notification = try BroadcastNotification(
                APS(liveActivity: APS.LiveActivity(event: .update, timestamp: Date(), contentState: ["score": 1])),
                expiration: expiration)
            _ = try await ProviderClient.withClient(credentials: team.credentials, environment: apns.environment) {
                try await $0.broadcast(notification, to: channel, of: team.bundleID)
            }
        }
        for channel in [passing, keeping] {
            try await broadcast(to: channel)
            try await team.wait(for: RequestPattern(channel: channel, outcome: .delivered))
        }
        // Now nobody is connected.
        try await team.devices[0].behave(.offline)
        try await broadcast(to: passing)
        try await team.wait(for: RequestPattern(channel: passing, outcome: .dropped))
        try await broadcast(to: keeping)
        try await team.wait(for: RequestPattern(channel: keeping, outcome: .stored))
        // A device whose subscriptions have ended gets none either.
        try await team.devices[0].subscribe(to: [], bundleID: team.bundleID)
        try await team.devices[0].behave(.online)
        try await broadcast(to: passing)
        try await team.wait(for: RequestPattern(channel: passing, outcome: .dropped), count: 2)
    }

    @Test(.apns(.byService))
    func `With tokens by service, a service's topic needs the service's token`() async throws {
        let apns = try TestAPNs.current
        let team = try await apns.makeTeam()
        let topic = team.bundleID + ".voip"
        let device = team.devices[0]
        func send(to token: String) async throws {
            let notification = try PushNotification(topic: topic, APS())
            let token = try #require(DeviceToken(token))
            _ = try await ProviderClient.withClient(credentials: team.credentials, environment: apns.environment) {
                try await $0.send(notification, to: token)
            }
        }
        try await send(to: try device.token(for: topic))
        let error = await #expect(throws: ProviderError.self) {
            try await send(to: try device.token(for: team.bundleID))
        }
        #expect(error?.rejection?.reason == .deviceTokenNotForTopic)
    }

    @Test
    func `A subscription that cannot be is refused, and the error says why`() async throws {
        let team = try await TestAPNs.current.makeTeam()
        for (channel, cause) in [("dHN0LXNyY2gtY2hubA==", "no channel"), ("?", "base64")] {
            let error = await #expect(throws: TestAPNsError.self) {
                try await team.devices[0].subscribe(to: [channel], bundleID: team.bundleID)
            }
            #expect(error?.code == .refused && error?.cause.contains(cause) == true)
        }
        let error = await #expect(throws: TestAPNsError.self) {
            try await team.devices[0].subscribe(to: [], bundleID: "com.example.other")
        }
        #expect(error?.cause.contains("no app") == true)
    }

    @Test
    func `If the service is busy, the library tries again, and the report has no findings`() async throws {
        let team = try await TestAPNs.current.makeTeam()
        try await team.rehearse(RehearsalRule(.answer(reason: "ServiceUnavailable"), when: .first(1)))
        _ = try await send("Hello", to: team.devices[0], of: team)
        let requests = try await team.wait(count: 2)
        #expect(requests.map(\.status) == [503, 200])
        #expect(try await team.report().filter { $0.severity == .error }.map(\.description) == [])
    }

    @Test
    func `After rehearsals have ended, requests are answered as usual`() async throws {
        // A service of its own: other tests rehearse too.
        try await TestAPNs.run { apns in
            let team = try await apns.makeTeam()
            try await team.rehearse(RehearsalRule(.answer(reason: "BadTopic")))
            let token = try #require(DeviceToken(try team.devices[0].token(for: team.bundleID)))
            let notification = try PushNotification(topic: team.bundleID, APS(alert: APS.Alert(body: "Hello")))
            try await ProviderClient.withClient(
                credentials: team.credentials, environment: apns.environment
            ) { client in
                await #expect(throws: (any Error).self) { try await client.send(notification, to: token) }
                try await apns.endRehearsals()
                _ = try await client.send(notification, to: token)
            }
            #expect(try await team.requests().map(\.status) == [400, 200])
        }
    }

    @Test
    func `An invalid rule is refused, and the error says what is wrong`() async throws {
        let team = try await TestAPNs.current.makeTeam()
        let error = await #expect(throws: TestAPNsError.self) {
            try await team.rehearse(RehearsalRule(.hang, when: .share(2)))
        }
        #expect(error?.code == .refused)
        #expect(error?.cause.contains("/rules/0/when/share") == true)
    }

    @Test(.apns(.acceptingAny))
    func `A backend's own key, topic and device token are accepted`() async throws {
        let apns = try await TestAPNs.team()
        // A key that this service does not know: another one has made it.
        let key = try await TestAPNs.run { try await $0.makeTeam().privateKeyPEM }
        let credentials = try ProviderCredentials(key: key, keyID: "STRANGEKEY", teamID: "STRANGE001")
        let token = String(repeating: "5f21d20b", count: 8)
        let notification = try PushNotification(topic: "com.example.own", APS(alert: APS.Alert(body: "Hello")))
        let deviceToken = try #require(DeviceToken(token))
        _ = try await ProviderClient.withClient(credentials: credentials, environment: apns.environment) {
            try await $0.send(notification, to: deviceToken)
        }
        try await apns.wait(for: RequestPattern(topic: "com.example.own", token: token, outcome: .delivered))
        #expect(try await apns.requests().count == 1)
        _ = try await apns.clock.advance(by: .seconds(60))
        _ = try await apns.report()
    }

    @Test
    func `A team's clock advances, and another team's does not`() async throws {
        let apns = try await TestAPNs.team()
        let other = try await TestAPNs.current.makeTeam()
        let before = try await apns.clock.now
        let after = try await apns.clock.advance(by: .seconds(86_400))
        #expect(after.timeIntervalSince(before) >= 86_400)
        #expect(try await other.clock.now < after)
        let error = await #expect(throws: TestAPNsError.self) { try await apns.clock.advance(by: .seconds(-1)) }
        #expect(error?.code == .refused)
    }

    @Test
    func `The clock advances when the test says so`() async throws {
        var configuration = TestAPNs.Configuration()
        configuration.hasVirtualClock = true
        try await TestAPNs.run(configuration) { apns in
            let team = try await apns.makeTeam(devices: [.offline])
            try await ProviderClient.withClient(credentials: team.credentials, environment: apns.environment) {
                client in
                let notification = try PushNotification(topic: team.bundleID, APS(alert: APS.Alert(body: "Hello")))
                let token = try #require(DeviceToken(try team.devices[0].token(for: team.bundleID)))
                try await client.send(notification, to: token)
                try await team.wait(for: RequestPattern(outcome: .stored))
                try await apns.advance(by: .seconds(31 * 86_400))
                try await team.wait(for: RequestPattern(outcome: .expired))
            }
        }
    }

    @Test
    func `Several services run at the same time, and do not affect each other`() async throws {
        let first = try TestAPNs.current
        try await TestAPNs.run { second in
            #expect(first.port != second.port)
            let one = try await first.makeTeam(bundleIDs: ["com.example.shop"])
            let other = try await second.makeTeam(bundleIDs: ["com.example.shop"])
            #expect(one.id != other.id)
        }
    }
}

extension TestAPNs.Configuration {
    fileprivate static var acceptingAny: Self {
        var configuration = Self()
        configuration.acceptsAny = true
        return configuration
    }

    fileprivate static var byService: Self {
        var configuration = Self()
        configuration.hasTokensByService = true
        return configuration
    }

    @Test
    func `A client that trusts both authorities survives a change of the authority, and any other is reported`()
        async throws
    {
        // A service of its own: a fault of TLS is for the connections of all teams.
        try await TestAPNs.run { apns in
            let team = try await apns.makeTeam()
            let both = try apns.authorityPEM + (await apns.otherAuthorityPEM())
            try await team.rehearse(RehearsalRule(.certificate(.otherAuthority)))
            let token = try #require(DeviceToken(try team.devices[0].token(for: team.bundleID)))
            let notification = try PushNotification(topic: team.bundleID, APS(alert: APS.Alert(body: "Hello")))
            let ready = try APNSEnvironment.custom(
                url: "https://\(apns.host):\(apns.port)", authority: .pem(both))
            try await ProviderClient.withClient(credentials: team.credentials, environment: ready) { client in
                _ = try await client.send(notification, to: token)
            }
            #expect(try await team.report().isEmpty)
        }
    }
}

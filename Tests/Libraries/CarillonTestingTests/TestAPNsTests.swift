import APNSProvider
import CarillonTesting
import Foundation
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
    func `A wait that times out names the requests that came`() async throws {
        let team = try await TestAPNs.current.makeTeam()
        _ = try await send("Hello", to: team.devices[0], of: team)
        let error = await #expect(throws: TestAPNsError.self) {
            try await team.wait(for: RequestPattern(pushType: "voip"), timeout: .milliseconds(50))
        }
        #expect(error?.code == .timedOut)
        #expect(error?.cause.contains("pushType") == true)
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
        #expect(try await team.findings().filter { $0.severity == .error }.map(\.description) == [])
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
    fileprivate static var byService: Self {
        var configuration = Self()
        configuration.hasTokensByService = true
        return configuration
    }
}

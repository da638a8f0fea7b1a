import APNSProvider
import CarillonTesting
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

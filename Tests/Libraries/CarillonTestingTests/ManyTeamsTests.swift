import APNSProvider
import CarillonTesting
import Testing

/// What a suite with hundreds of parallel tests is: script/bench testing runs it ten times.
@Suite("Two hundred teams at the same time", .timeLimit(.minutes(5)), .apns)
struct ManyTeamsTests {
    private static let count = 200

    @Test
    func `Each sees its own requests`() async throws {
        let service = try TestAPNs.current
        try await withThrowingTaskGroup(of: Void.self) { tests in
            for number in 0..<Self.count {
                tests.addTask { try await seesItsOwnRequests(service, number) }
            }
            try await tests.waitForAll()
        }
    }

    @concurrent private func seesItsOwnRequests(_ service: TestAPNs, _ number: Int) async throws {
        let team = try await service.makeTeam()
        try await team.rehearse(RehearsalRule(.answer(reason: "ServiceUnavailable"), when: .first(1)))
        let text = "Order \(number)"
        let notification = try PushNotification(topic: team.bundleID, APS(alert: APS.Alert(body: text)))
        let token = try #require(DeviceToken(try team.devices[0].token(for: team.bundleID)))
        // The library repeats what was answered 503.
        try await ProviderClient.withClient(credentials: team.credentials, environment: team.environment) { client in
            _ = try await client.send(notification, to: token)
        }
        let delivered = try await team.wait(for: RequestPattern(outcome: .delivered), timeout: .seconds(60))
        #expect(delivered.map(\.payload) == [["aps": ["alert": .string(text)]]])
        #expect(try await team.requests().map(\.status) == [503, 200])
        try await team.remove()
    }
}

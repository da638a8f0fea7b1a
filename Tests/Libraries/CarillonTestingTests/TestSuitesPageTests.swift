// The Swift of docs/test-suites.md: Clients/testing/test_documents.py checks that each of its blocks is here, word for word.

import APNSProvider
import CarillonTesting
import Testing

/// Your backend, which takes its settings from environment variables.
func notify(_ environment: [String: String], _ token: String, _ text: String) async throws {
    func setting(_ name: String) throws -> String { try #require(environment[name]) }
    let credentials = try ProviderCredentials(
        key: setting("APNS_PRIVATE_KEY"), keyID: setting("APNS_KEY_ID"), teamID: setting("APNS_TEAM_ID"))
    let apns = try APNSEnvironment.custom(url: setting("APNS_URL"), authority: .file(setting("APNS_CA_FILE")))
    let notification = try PushNotification(topic: setting("APNS_TOPIC"), APS(alert: APS.Alert(body: text)))
    let device = try #require(DeviceToken(token))
    _ = try await ProviderClient.withClient(credentials: credentials, environment: apns) { client in
        try await client.send(notification, to: device)
    }
}

@Test(.apns) func orderIsReady() async throws {
    let apns = try await TestAPNs.team()
    let phone = try await apns.device()
    try await notify(apns.environmentVariables, phone.token, "Your order is ready")
    let requests = try await apns.wait(for: RequestPattern(outcome: .delivered))
    #expect(requests[0].payload == ["aps": ["alert": "Your order is ready"]])
}

@Test(.apns) func otherWordsOfThePage() async throws {
    let apns = try await TestAPNs.team()
    try await apns.rehearse(RehearsalRule(.answer(reason: "ServiceUnavailable"), when: .first(1)))
    try await apns.clock.advance(by: .seconds(3600))
    let sent = try await apns.requests()
    let findings = try await apns.report()
    #expect(sent.isEmpty && !findings.contains { $0.severity == .error })
}

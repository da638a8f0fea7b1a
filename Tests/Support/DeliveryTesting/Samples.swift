import CommonTesting
import Delivery
import Notifications
import Storage
import Testing

/// Values for the checks of the store contract.
enum Samples {
    static let moment = Timestamp(milliseconds: 1_700_000_000_000)
    static let later = moment.advanced(by: .seconds(60))
    static let muchLater = moment.advanced(by: .seconds(3600))

    static let device = DeviceKey(environment: .production, device: DeviceID(rawValue: 0xfedc_ba98_7654_3210))
    static let otherDevice = DeviceKey(environment: .production, device: DeviceID(rawValue: 1))
    /// The same device number in the other environment, which is another device.
    static let twin = DeviceKey(environment: .development, device: device.device)

    static func destination(_ device: DeviceKey = device, app: UInt32 = 1) -> Destination {
        Destination(environment: device.environment, device: device.device, app: AppID(rawValue: app))
    }

    /// An entry whose notification has only the required values.
    static func entry(
        _ destination: Destination = destination(),
        id: UInt64 = 1,
        expires: Timestamp = muchLater,
    ) -> MailboxEntry {
        MailboxEntry(
            destination: destination,
            notification: Notification(
                id: NotificationID(high: id, low: ~id),
                topic: "com.example.app",
                payload: Payload(stored: Array(#"{"aps":{"badge":\#(id)}}"#.utf8), contents: [.aps, .badge]),
            ),
            expires: expires,
        )
    }

    static func bundleID(_ text: String) throws -> BundleID { try #require(BundleID(rawValue: text)) }
    static func team(_ text: String = "TEAM000001", name: String = "Team") throws -> Team {
        Team(id: try #require(TeamID(rawValue: text)), name: name)
    }
    static func key(_ text: String = "KEY0000001", of team: Team) throws -> TeamKey {
        TeamKey(
            id: try #require(KeyID(rawValue: text)),
            team: team.id,
            publicKey: [4] + [UInt8](repeating: 0xab, count: 64),
            environments: [.production],
        )
    }
    static func certificate(
        _ team: TeamID,
        _ bundleID: BundleID,
        _ environments: Set<Environment>,
    ) -> TeamCertificate {
        var random = SeededGenerator.random()
        return TeamCertificate(
            serial: .random(using: &random), team: team, bundleID: bundleID, environments: environments,
            validUntil: muchLater)
    }
    static func secret(_ text: String = "token-keys") throws -> SecretName {
        try #require(SecretName(rawValue: text))
    }
}

/// Expects a store error that has the time when the registration ended.
func expectEnded(sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void) async {
    await #expect(sourceLocation: sourceLocation) {
        try await body()
    } throws: { error in
        if case .ended = (error as? StoreError)?.code { true } else { false }
    }
}

/// Expects a store error with this code.
func expectFailure(
    _ code: StoreError.Code,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Void,
) async {
    await #expect(sourceLocation: sourceLocation) {
        try await body()
    } throws: { error in
        (error as? StoreError)?.code == code
    }
}

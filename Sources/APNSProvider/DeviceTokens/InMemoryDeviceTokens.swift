public import Foundation

/// A record of device tokens in memory, for tests and small programs.
public actor InMemoryDeviceTokens: DeviceTokens {
    private struct Key: Hashable {
        let deviceToken: DeviceToken
        let topic: String
    }

    private var registrations: [Key: Date] = [:]

    /// An empty record.
    public init() {}

    /// The app handed over its device token.
    public func register(_ deviceToken: DeviceToken, topic: String, at time: Date = Date()) {
        registrations[Key(deviceToken: deviceToken, topic: topic)] = time
    }

    /// All device tokens of a topic.
    public func deviceTokens(for topic: String) -> [DeviceToken] {
        registrations.keys.filter { $0.topic == topic }.map(\.deviceToken)
    }

    /// See ``DeviceTokens/registrationTime(of:topic:)``.
    public func registrationTime(of deviceToken: DeviceToken, topic: String) -> Date? {
        registrations[Key(deviceToken: deviceToken, topic: topic)]
    }

    /// See ``DeviceTokens/remove(_:topic:registeredAt:)``.
    public func remove(_ deviceToken: DeviceToken, topic: String, registeredAt time: Date) {
        let key = Key(deviceToken: deviceToken, topic: topic)
        if registrations[key] == time { registrations[key] = nil }
    }
}

public import Foundation

/// A record of device tokens in memory, for tests and small programs.
public actor InMemoryDeviceTokens: DeviceTokens {
    private struct Registration: Hashable {
        let deviceToken: DeviceToken
        let topic: String
    }

    private var registrations: [Registration: Date] = [:]

    /// Creates an empty record.
    public init() {}

    /// Records that the app handed over its device token at this time.
    public func register(_ deviceToken: DeviceToken, topic: String, at time: Date = Date()) {
        registrations[Registration(deviceToken: deviceToken, topic: topic)] = time
    }

    /// Returns all device tokens of a topic, in no particular order.
    public func deviceTokens(for topic: String) -> [DeviceToken] {
        registrations.keys.filter { $0.topic == topic }.map(\.deviceToken)
    }

    /// Returns the time of the last registration. See ``DeviceTokens/registrationTime(of:topic:)``.
    public func registrationTime(of deviceToken: DeviceToken, topic: String) -> Date? {
        registrations[Registration(deviceToken: deviceToken, topic: topic)]
    }

    /// Removes a device token. See ``DeviceTokens/remove(_:topic:registeredAt:)``.
    public func remove(_ deviceToken: DeviceToken, topic: String, registeredAt time: Date) {
        let key = Registration(deviceToken: deviceToken, topic: topic)
        if registrations[key] == time { registrations[key] = nil }
    }
}

import Management

/// A virtual device of a ``TestTeam``.
public struct TestDevice: Sendable {
    /// The device's identifier: 16 hexadecimal digits.
    public let id: String
    /// The device tokens of the device's apps in hexadecimal digits, by bundle ID. With
    /// ``TestAPNs/Configuration/hasTokensByService`` those of the apps' services too, by topic, such as
    /// `com.example.app.voip`.
    public let tokens: [String: String]
    /// The team's first app.
    let bundleID: String
    let management: ManagementCalls

    /// The device token of the team's first app, in hexadecimal digits; empty if the device does not have it.
    public var token: String { tokens[bundleID] ?? "" }

    /// Returns the device token of one of the device's apps, or of a topic in ``tokens``.
    /// - Throws: ``TestAPNsError/Code/refused`` if the device does not have the app.
    public func token(for bundleID: String) throws(TestAPNsError) -> String {
        guard let token = tokens[bundleID] else {
            throw TestAPNsError(.refused, "The device has no app \(bundleID); it has \(tokens.keys.sorted()).")
        }
        return token
    }

    /// Gives the device another behaviour.
    /// - Throws: ``TestAPNsError/Code/refused`` if the service does not know the device.
    public func behave(_ behaviour: DeviceBehaviour) async throws(TestAPNsError) {
        try await change(ManagementMessages.ChangedDevice(behaviour: try behaviour.message))
    }

    /// Subscribes one of the device's apps to broadcast channels, in place of those to which it was subscribed.
    /// - Parameters:
    ///   - channels: the identifiers of channels, such as those that ``TestTeam/makeChannel(of:keepsNewest:)`` returns.
    ///     An empty array ends all subscriptions of the app.
    ///   - bundleID: the app.
    /// - Throws: ``TestAPNsError/Code/refused`` if the device does not have the app, the app does not have one of the
    ///   channels, or the app was removed from the device.
    public func subscribe(to channels: [String], bundleID: String) async throws(TestAPNsError) {
        try await change(ManagementMessages.ChangedDevice(channels: [bundleID: channels]))
    }

    private func change(_ change: ManagementMessages.ChangedDevice) async throws(TestAPNsError) {
        let _: Ignored = try await management.ask("PATCH", "/v1/devices/\(id)", change)
    }
}

/// A virtual device of a ``TestTeam``.
public struct TestDevice: Sendable {
    /// 16 hexadecimal digits.
    public let id: String
    /// Its device tokens by bundle ID, hexadecimal.
    public let tokens: [String: String]
    let management: ManagementCalls

    /// The device token of an app on it.
    /// - Throws: ``TestAPNsError/Code/refused`` if the device does not have the app.
    public func token(for bundleID: String) throws(TestAPNsError) -> String {
        guard let token = tokens[bundleID] else {
            throw TestAPNsError(.refused, "The device has no app \(bundleID); it has \(tokens.keys.sorted()).")
        }
        return token
    }

    /// Changes what it does from now on.
    public func behave(_ behaviour: DeviceBehaviour) async throws(TestAPNsError) {
        let _: Ignored = try await management.ask("PATCH", "/v1/devices/\(id)", ["behaviour": behaviour])
    }
}

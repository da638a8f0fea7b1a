public import Foundation

/// A provider's own record of device tokens, as far as the library has to know it: implement it on your database, and a
/// device token that the service calls inactive is taken out, unless the app has registered it again since (Guide,
/// Table 8-5).
public protocol DeviceTokens: Sendable {
    /// When the app last handed this device token to the provider.
    /// - Returns: Nil for a device token that is not in the record.
    func registrationTime(of deviceToken: DeviceToken, topic: String) async throws -> Date?

    /// Takes a device token out, if its registration is still the one of that time: the app may register it at this
    /// very moment.
    func remove(_ deviceToken: DeviceToken, topic: String, registeredAt time: Date) async throws
}

/// What to do about a device token that the service called inactive.
enum InactiveDeviceToken: Hashable {
    /// It is not in the record, or was registered later: "stop pushing until the device registers a token with a later
    /// timestamp" (Table 8-5).
    case keep
    /// It is to be taken out, if its registration is still the one of that time.
    case remove(registeredAt: Date)

    /// - Parameter time: when the service last knew it to be inactive; nil where it does not say.
    init(inactiveSince time: Date?, registeredAt registration: Date?) {
        guard let registration else {
            self = .keep
            return
        }
        // The service counts in milliseconds: one that was registered and ended within the same has ended.
        let milliseconds = (registration.timeIntervalSince1970 * 1000).rounded(.down)
        if let time, milliseconds > (time.timeIntervalSince1970 * 1000).rounded() {
            self = .keep
        } else {
            self = .remove(registeredAt: registration)
        }
    }
}

extension DeviceTokens {
    /// Takes a device token out that the service called inactive, unless it was registered later. The answer 410 and
    /// the feedback service both end here.
    /// - Parameters:
    ///   - deviceToken: the one that was called inactive.
    ///   - topic: what was sent to.
    ///   - time: when the service last knew it to be inactive; nil where it does not say.
    /// - Returns: Whether it was taken out.
    @discardableResult
    public func forget(
        _ deviceToken: DeviceToken,
        topic: String,
        inactiveSince time: Date?,
    ) async throws -> Bool {
        let registration = try await registrationTime(of: deviceToken, topic: topic)
        switch InactiveDeviceToken(inactiveSince: time, registeredAt: registration) {
        case .keep:
            return false
        case .remove(let registration):
            try await remove(deviceToken, topic: topic, registeredAt: registration)
            return true
        }
    }
}

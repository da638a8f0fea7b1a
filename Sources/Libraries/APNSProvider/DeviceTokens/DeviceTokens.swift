public import Foundation

/// The provider's own record of device tokens. Implement it on your database.
///
/// When the service says that a device token is no longer active, the client removes it from this record, unless the
/// app has registered it again since then (Guide, Table 8-5).
public protocol DeviceTokens: Sendable {
    /// Returns the time at which the app last handed this device token to the provider.
    /// - Returns: nil if the device token is not in the record.
    func registrationTime(of deviceToken: DeviceToken, topic: String) async throws -> Date?

    /// Removes a device token if its registration time is still `time`. Do both in one step, because the app may
    /// register the device token again at the same moment.
    func remove(_ deviceToken: DeviceToken, topic: String, registeredAt time: Date) async throws
}

/// The decision about a device token that the service called inactive.
enum InactiveDeviceToken: Hashable {
    /// Keep it: it is not in the record, or it was registered later. "Stop pushing until the device registers a
    /// token with a later timestamp" (Table 8-5).
    case keep
    /// Remove it if its registration time is still this one.
    case remove(registeredAt: Date)

    /// - Parameter time: when the service last knew the device token to be inactive; nil if the service did not say.
    init(inactiveSince time: Date?, registeredAt registration: Date?) {
        guard let registration else {
            self = .keep
            return
        }
        // The service counts in milliseconds. If a token was registered and ended in the same millisecond, it counts
        // as ended.
        let milliseconds = (registration.timeIntervalSince1970 * 1000).rounded(.down)
        if let time, milliseconds > (time.timeIntervalSince1970 * 1000).rounded() {
            self = .keep
        } else {
            self = .remove(registeredAt: registration)
        }
    }
}

extension DeviceTokens {
    /// Removes a device token that the service called inactive, unless it was registered later. The client calls
    /// this after a 410, ``FeedbackReader`` for each entry of the feedback service.
    /// - Parameters:
    ///   - deviceToken: the device token that the service called inactive.
    ///   - topic: the topic of the notification.
    ///   - time: when the service last knew the device token to be inactive; nil if the service did not say.
    /// - Returns: Whether the device token was removed.
    /// - Throws: The record's error.
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

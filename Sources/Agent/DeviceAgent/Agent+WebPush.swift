import APNSDevice
import NIOCore
import Rates

// Subscriptions to Web Push of apps with a manifest.
extension Agent {
    /// Makes or changes a subscription of an app. The service keeps it, so the app asks for it at each start, as for its device token.
    func subscribe(
        _ bundleID: String,
        as name: String,
        _ options: SubscriptionOptions,
        now: NIODeadline = .now(),
    ) async throws(AgentError) -> String {
        guard subscriptionRates.admits(bundleID, at: now.uptimeNanoseconds) else {
            throw AgentError(.tooMany, "The app subscribes too often; it has to subscribe at its start.")
        }
        return try await asService(bundleID) { device throws(DeviceError) in
            try await device.subscribe(
                bundleID, toWebPushAs: name, vapid: options.vapid, isPlain: options.plain ?? false)
        }
    }

    func subscriptions(of bundleID: String) async throws(AgentError) -> [WebPushSubscription] {
        try await asService(bundleID) { device throws(DeviceError) in
            try await device.webPushSubscriptions(of: bundleID)
        }
    }

    func unsubscribe(_ bundleID: String, from name: String) async throws(AgentError) {
        try await asService(bundleID) { device throws(DeviceError) in
            try await device.unsubscribe(bundleID, fromWebPushAs: name)
        }
    }

    /// Asks the service for a registered app, for as long as an app waits.
    private func asService<Value: Sendable>(
        _ bundleID: String,
        _ ask: @escaping @Sendable (Device) async throws(DeviceError) -> Value,
    ) async throws(AgentError) -> Value {
        guard records[bundleID] != nil else { throw Self.notRegistered(bundleID) }
        guard let device else { throw AgentError(.unavailable, "The agent is starting: try again.") }
        let answer = await TimeLimit.run(AgentLimits.registering, ContinuousClock()) {
            () -> Result<Value, DeviceError> in
            do throws(DeviceError) { return .success(try await ask(device)) } catch { return .failure(error) }
        }
        switch answer {
        case nil: throw AgentError(.unavailable, "The service cannot be reached now: try again.")
        case .success(let value): return value
        case .failure(let error):
            throw AgentError(error.isTemporary ? .unavailable : .refused, error.cause)
        }
    }
}

/// How an app subscribes to Web Push.
struct SubscriptionOptions: Sendable {
    /// The only VAPID key that may send.
    var vapid: String?
    /// Whether the service takes bodies that are not encrypted.
    var plain: Bool?
}

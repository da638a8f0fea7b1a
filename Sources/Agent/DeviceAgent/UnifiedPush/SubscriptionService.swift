import APNSDevice

/// What the distributor needs of the push service.
protocol SubscriptionService: Sendable {
    /// Registers the app to which the subscriptions belong.
    func registerApp() async throws(DeviceError)
    /// Makes or changes a subscription, and returns its endpoint.
    func subscribe(_ name: String, vapid: String?, isPlain: Bool) async throws(DeviceError) -> String
    func subscriptions() async throws(DeviceError) -> [WebPushSubscription]
    func unsubscribe(_ name: String) async throws(DeviceError)
}

/// The service, asked over the agent's connection.
struct AgentSubscriptions: SubscriptionService {
    let bundleID: String
    /// The device; nil if the agent is starting or ending.
    let current: @Sendable () async -> Device?

    private var device: Device {
        get async throws(DeviceError) {
            guard let device = await current() else { throw DeviceError(.closed, "The agent is starting or ending.") }
            return device
        }
    }

    func registerApp() async throws(DeviceError) { _ = try await device.register(bundleID) }

    func subscribe(_ name: String, vapid: String?, isPlain: Bool) async throws(DeviceError) -> String {
        try await device.subscribe(bundleID, toWebPushAs: name, vapid: vapid, isPlain: isPlain)
    }

    func subscriptions() async throws(DeviceError) -> [WebPushSubscription] {
        try await device.webPushSubscriptions(of: bundleID)
    }

    func unsubscribe(_ name: String) async throws(DeviceError) {
        try await device.unsubscribe(bundleID, fromWebPushAs: name)
    }
}

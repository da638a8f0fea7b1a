import APNSDevice
import Synchronization

@testable import DeviceAgent

/// A service that has subscriptions, and nothing else.
final class PlayedSubscriptions: SubscriptionService {
    struct State {
        var subscriptions: [String: WebPushSubscription] = [:]
        /// How often it was asked for a subscription.
        var asked = 0
        var made = 0
        /// What each request throws; nil if the service answers.
        var failure: DeviceError?
    }

    let state = Mutex(State())

    func registerApp() async throws(DeviceError) { try fail() }

    func subscribe(_ name: String, vapid: String?, isPlain: Bool) async throws(DeviceError) -> String {
        try fail()
        return state.withLock { state in
            state.asked += 1
            if state.subscriptions[name] == nil { state.made += 1 }
            let endpoint = state.subscriptions[name]?.endpoint ?? "https://push.example/wp/\(state.made)"
            state.subscriptions[name] = WebPushSubscription(
                name: name, endpoint: endpoint, vapid: vapid, isPlain: isPlain)
            return endpoint
        }
    }

    func subscriptions() async throws(DeviceError) -> [WebPushSubscription] {
        try fail()
        return state.withLock { Array($0.subscriptions.values) }
    }

    func unsubscribe(_ name: String) async throws(DeviceError) {
        try fail()
        _ = state.withLock { $0.subscriptions.removeValue(forKey: name) }
    }

    private func fail() throws(DeviceError) {
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// The subscription with the endpoint.
    func subscription(_ endpoint: String) -> WebPushSubscription? {
        state.withLock { $0.subscriptions.values.first { $0.endpoint == endpoint } }
    }
}

package import Delivery
package import Notifications
import Synchronization
package import Trust

/// What a courier needs to make endpoints of Web Push for its devices.
package final class WebPushEndpoints: Sendable {
    let subscriptions: any WebPushSubscriptions
    private let key: EndpointKey
    private let knownOrigin = Mutex<String?>(nil)

    package init(_ subscriptions: any WebPushSubscriptions, key: EndpointKey) {
        self.subscriptions = subscriptions
        self.key = key
    }

    /// The origin with which the endpoints of this environment begin, such as `https://push.example.net`; nil as long as the
    /// service has no Web Push, and requests for subscriptions are refused.
    package var origin: String? {
        get { knownOrigin.withLock { $0 } }
        set { knownOrigin.withLock { $0 = newValue } }
    }

    /// Makes a subscription with a number, random bytes and an endpoint that were never used. It is stored only if the app has
    /// none of this name.
    /// - Parameter named: the endpoint that a test names in place of a new one.
    package func make(
        _ name: String,
        of app: Destination,
        vapid: [UInt8]?,
        isPlain: Bool,
        named: EndpointID? = nil,
    ) -> WebPushSubscription? {
        let made = named.map { (seed: EndpointKey.makeSeed(), digest: EndpointKey.digest(of: $0)) }
        guard let (seed, digest) = made ?? key.make(in: app.environment) else { return nil }
        // A number that was used before could take a late message of an earlier subscription.
        let queue = UInt32.random(in: 1 ... .max)
        return WebPushSubscription(
            destination: Destination(
                environment: app.environment, device: app.device, app: app.app, queue: queue),
            name: name, seed: seed, digest: digest, vapid: vapid, isPlain: isPlain)
    }

    package func url(of subscription: WebPushSubscription, at origin: String) -> String {
        key.endpoint(of: subscription.seed, in: subscription.destination.environment)?.url(at: origin) ?? ""
    }
}

package import Delivery
package import Notifications
package import WebPushEncryption

/// A subscription of Web Push that an app on a virtual device is to have.
package struct WantedSubscription: Sendable {
    package let app: App
    /// ``Delivery/WebPushSubscription/nameBytes`` of UTF-8.
    package let name: String
    /// The only key that may sign the tokens of senders: a point on P-256; nil for any.
    package let vapid: [UInt8]?
    /// Whether messages without encryption are accepted.
    package let isPlain: Bool
    package let keys: SubscriptionKeys
    /// The endpoint that a fixture names; nil for a new one.
    package let endpoint: EndpointID?

    package init(
        _ app: App,
        name: String,
        vapid: [UInt8]? = nil,
        isPlain: Bool = false,
        keys: SubscriptionKeys = SubscriptionKeys(),
        endpoint: EndpointID? = nil,
    ) {
        (self.app, self.name, self.vapid, self.isPlain) = (app, name, vapid, isPlain)
        (self.keys, self.endpoint) = (keys, endpoint)
    }
}

/// A subscription of an app on a virtual device, as the management API shows it.
package struct VirtualSubscription: Sendable {
    package let wanted: WantedSubscription
    /// The endpoint's URL.
    package let url: String
    /// As the store has it.
    package internal(set) var stored: WebPushSubscription

    package var name: String { wanted.name }
    package var bundleID: BundleID { wanted.app.bundleID }
    package var keys: SubscriptionKeys { wanted.keys }
}

/// Makes the endpoints of Web Push. The service has it if it has Web Push.
package struct EndpointMaking: Sendable {
    /// Makes a subscription that was never used, and the URL of its endpoint; nil if there is no Web Push.
    package typealias Make =
        @Sendable (_ wanted: WantedSubscription, _ app: Destination) -> (WebPushSubscription, url: String)?

    let subscriptions: any WebPushSubscriptions
    /// The endpoints of phones, which no device may have too.
    let phones: any HandleEndpoints
    let make: Make

    package init(
        _ subscriptions: any WebPushSubscriptions, phones: any HandleEndpoints, make: @escaping Make
    ) {
        (self.subscriptions, self.phones, self.make) = (subscriptions, phones, make)
    }
}

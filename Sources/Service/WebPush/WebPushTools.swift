package import Connections
package import Delivery
package import Matching
package import Notifications
package import Storage

/// What tests have of Web Push, in the development environment.
package struct WebPushTools: Sendable {
    let observation: RequestObservation
    let text: @Sendable (WebPushMessage, Destination) -> String?
    let firstSight: FirstSight?
    let acceptAnyFrom: [AddressRange]

    /// Makes the subscription of an endpoint that nobody has made.
    package typealias FirstSight = @Sendable (EndpointID) async -> Result<WebPushSubscription?, StoreError>

    /// - Parameters:
    ///   - observation: observes the requests.
    ///   - text: what a message to a subscription says; nil if nobody here has its keys.
    ///   - firstSight: makes unknown subscriptions; nil unless `--accept any` is set.
    ///   - acceptAnyFrom: the addresses besides loopback from which that may be used.
    package init(
        _ observation: RequestObservation,
        text: @escaping @Sendable (WebPushMessage, Destination) -> String?,
        firstSight: FirstSight? = nil,
        acceptAnyFrom: [AddressRange] = [],
    ) {
        (self.observation, self.text) = (observation, text)
        (self.firstSight, self.acceptAnyFrom) = (firstSight, acceptAnyFrom)
    }
}

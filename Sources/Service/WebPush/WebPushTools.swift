package import Connections
package import Delivery
package import Matching
package import Notifications
package import Storage

/// What tests have of Web Push, in the development environment.
package struct WebPushTools: Sendable {
    let observation: RequestObservation
    let text: @Sendable (WebPushMessage, Destination) -> String?
    let ended: @Sendable (EndpointID) -> WebPushSubscription?
    let firstSight: FirstSight?
    let acceptAnyFrom: [AddressRange]

    /// Makes the subscription of an endpoint that nobody has made.
    package typealias FirstSight = @Sendable (EndpointID) async -> Result<WebPushSubscription?, StoreError>

    /// - Parameters:
    ///   - observation: observes the requests.
    ///   - text: what a message to a subscription says; nil if nobody here has its keys.
    ///   - ended: the subscription that an endpoint of a virtual device led to before it ended; nil for any other endpoint.
    ///   - firstSight: makes unknown subscriptions; nil unless `--accept any` is set.
    ///   - acceptAnyFrom: the addresses besides loopback from which that may be used.
    package init(
        _ observation: RequestObservation,
        text: @escaping @Sendable (WebPushMessage, Destination) -> String?,
        ended: @escaping @Sendable (EndpointID) -> WebPushSubscription? = { _ in nil },
        firstSight: FirstSight? = nil,
        acceptAnyFrom: [AddressRange] = [],
    ) {
        (self.observation, self.text, self.ended) = (observation, text, ended)
        (self.firstSight, self.acceptAnyFrom) = (firstSight, acceptAnyFrom)
    }
}

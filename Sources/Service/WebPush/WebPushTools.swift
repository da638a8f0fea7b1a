package import Delivery
package import Matching

/// What tests have of Web Push, in the development environment.
package struct WebPushTools: Sendable {
    let observation: RequestObservation
    let text: @Sendable (WebPushMessage, Destination) -> String?

    /// - Parameters:
    ///   - observation: observes the requests.
    ///   - text: what a message to a subscription says; nil if nobody here has its keys.
    package init(
        _ observation: RequestObservation,
        text: @escaping @Sendable (WebPushMessage, Destination) -> String?,
    ) {
        (self.observation, self.text) = (observation, text)
    }
}

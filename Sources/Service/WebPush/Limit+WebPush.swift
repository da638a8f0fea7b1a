package import Rates

/// The limits of Web Push.
extension Limit {
    package static let webPushConnectRate = Limit("web-push-connect-rate")
    /// ``WebPushLimits/messagesPerEndpoint``.
    package static let webPushEndpointRate = Limit("web-push-endpoint-rate")
    /// ``WebPushLimits/requestsPerAddress``.
    package static let webPushAddressRate = Limit("web-push-address-rate")
    /// ``WebPushLimits/guessesPerAddress``.
    package static let webPushGuessRate = Limit("web-push-guess-rate")
    /// ``WebPushLimits/relayedPerToken``.
    package static let webPushRelayTokenRate = Limit("web-push-relay-token-rate")
    /// ``WebPushLimits/relayedPerAddress``.
    package static let webPushRelayAddressRate = Limit("web-push-relay-address-rate")
    /// ``WebPushLimits/relayedPerApp``.
    package static let webPushRelayAppRate = Limit("web-push-relay-app-rate")

    package static let ofWebPush: [Limit] = [
        .webPushConnectRate, .webPushEndpointRate, .webPushAddressRate, .webPushGuessRate, .webPushRelayTokenRate,
        .webPushRelayAddressRate, .webPushRelayAppRate,
    ]
}

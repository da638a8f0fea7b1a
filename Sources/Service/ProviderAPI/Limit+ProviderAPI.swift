import Delivery
package import Rates

/// The limits of providers: the rate of connections, and the use of provider tokens.
extension Limit {
    package static let providerConnectRate = Limit("provider-connect-rate")
    /// ``ProviderLimits/tokenUpdates``.
    package static let tokenUpdateRate = Limit("token-update-rate")
    /// ``ProviderLimits/failedTokens``.
    package static let failedTokenRate = Limit("failed-token-rate")
    /// ``ProviderLimits/untrustedRequests``.
    package static let untrustedRequests = Limit("untrusted-requests")
    /// The oldest verified provider token was forgotten, because there was no room for a new one.
    package static let rememberedTokens = Limit("remembered-tokens")

    /// ``ProviderLimits/gatewayRequestsPerAddress``.
    package static let gatewayAddressRate = Limit("gateway-address-rate")
    /// ``ProviderLimits/handlesPerGrant``.
    package static let gatewayGrantRate = Limit("gateway-grant-rate")

    package static let ofProviderAPI: [Limit] = [
        .providerConnectRate, .tokenUpdateRate, .failedTokenRate, .untrustedRequests, .rememberedTokens,
        .gatewayAddressRate, .gatewayGrantRate, .grantRate,
    ]
}

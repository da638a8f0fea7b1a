package import Rates

/// The limits of providers: the rate of connections, and the use of provider tokens.
extension Limit {
    package static let providerConnectRate = Limit("provider-connect-rate")
    /// ``ProviderLimits/tokenUpdates``.
    package static let tokenUpdateRate = Limit("token-update-rate")
    /// ``ProviderLimits/failedTokens``.
    package static let failedTokenRate = Limit("failed-token-rate")
    /// The oldest verified provider token was forgotten, because there was no room for a new one.
    package static let rememberedTokens = Limit("remembered-tokens")

    package static let ofProviderGateway: [Limit] = [
        .providerConnectRate, .tokenUpdateRate, .failedTokenRate, .rememberedTokens,
    ]
}

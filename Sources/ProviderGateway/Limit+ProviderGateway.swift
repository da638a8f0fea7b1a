package import Rates

/// The limits of providers: how often they connect, and what they do with provider tokens.
extension Limit {
    package static let providerConnectRate = Limit("provider-connect-rate")
    /// ``ProviderLimits/tokenUpdates``.
    package static let tokenUpdateRate = Limit("token-update-rate")
    /// ``ProviderLimits/failedTokens``.
    package static let failedTokenRate = Limit("failed-token-rate")
    /// The oldest provider token that was found good was forgotten for a new one.
    package static let rememberedTokens = Limit("remembered-tokens")

    package static let ofProviderGateway: [Limit] = [
        .providerConnectRate, .tokenUpdateRate, .failedTokenRate, .rememberedTokens,
    ]
}

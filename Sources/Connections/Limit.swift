/// The limits that strike whoever is on the other side, by the names that docs/settings.md and docs/metrics.md have for
/// them.
package enum Limit: String, Sendable, Hashable, CaseIterable {
    case tokenRate = "token-rate"
    case tokenUpdateRate = "token-update-rate"
    case failedTokenRate = "failed-token-rate"
    case rememberedTokens = "remembered-tokens"
    case providerConnectRate = "provider-connect-rate"
    case courierConnectRate = "courier-connect-rate"
    case managementConnectRate = "management-connect-rate"
    case openConnections = "open-connections"
    case openFiles = "open-files"
    case handshakeTimeout = "handshake-timeout"
    case requestTimeout = "request-timeout"
    case idleTimeout = "idle-timeout"
    case flood
    case unacknowledged
    case pendingStores = "pending-stores"
    case silentRate = "silent-rate"
    case binaryPacketTimeout = "binary-packet-timeout"
    case binaryIdleTimeout = "binary-idle-timeout"
    case binaryLingerTimeout = "binary-linger-timeout"
    case feedbackTimeout = "feedback-timeout"
}

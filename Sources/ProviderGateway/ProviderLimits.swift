package import NIOCore
package import Rates

/// The named bounds of the provider API, each with the reason for its value.
package struct ProviderLimits: Sendable, Hashable {
    /// How many requests a connection may have open once it has shown a valid provider token: what real connections
    /// announce (500, 1,000 or 1,500).
    package var concurrentStreams = 1000

    /// How often the provider token of a connection may change: once in twenty minutes (docs/current-apns.md;
    /// the guide asks for one token for all requests of its hour, 2.3.3.1).
    package var tokenUpdates = Rate(burst: 1, perSecond: 1 / 1200)

    /// How many provider tokens may fail on a connection. Each costs a verification, many times what a request costs;
    /// beyond it the connection ends.
    package var failedTokens = Rate(burst: 100, perSecond: 100 / 60)

    /// How long a request's headers, and then its body, may take: senders are machines on good lines, and an open
    /// request costs memory.
    package var requestTimeout = TimeAmount.seconds(10)

    /// How long a connection may be without a request: apps that send rarely are better off with a new connection.
    package var idleTimeout = TimeAmount.minutes(10)

    package init() {}
}

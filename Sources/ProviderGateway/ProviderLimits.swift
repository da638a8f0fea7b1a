package import NIOCore
package import Rates

/// The named limits of the provider API, each with the reason for its value.
package struct ProviderLimits: Sendable, Hashable {
    /// The largest number of open requests of a connection that has shown a valid provider token. It is in the range
    /// that real services announce (500, 1,000 or 1,500).
    package var concurrentStreams = 1000

    /// The rate at which the provider token of a connection may change: once in twenty minutes
    /// (docs/current-apns.md; the Guide requires one token for all requests of an hour, 2.3.3.1).
    package var tokenUpdates = Rate(burst: 1, perSecond: 1 / 1200)

    /// The rate of invalid provider tokens on a connection. Verifying one costs much more than a request. Beyond the
    /// rate the connection ends.
    package var failedTokens = Rate(burst: 100, perSecond: 100 / 60)

    /// The time for a request's headers, and then for its body. Providers have fast connections, and an open request
    /// uses memory.
    package var requestTimeout = TimeAmount.seconds(10)

    /// The time that a connection may have no request. A provider that sends rarely can open a new connection.
    package var idleTimeout = TimeAmount.minutes(10)

    /// The time that a connection may be idle before a good client checks it with PING, as the report judges it: an hour, as
    /// Apple recommends (docs/current-apns.md).
    package var uncheckedSilence = TimeAmount.hours(1)

    package init() {}
}

package import Delivery
package import HTTP2
package import NIOCore
package import Notifications
package import Trust

/// The provider API of one environment (Guide, 2.3): what stands behind its listener.
package final class ProviderGateway: HTTP2Service {
    package let environment: Environment
    let rules: RequestRules
    let tokens: ProviderTokens
    let accounts: any Accounts
    let delivery: Delivery
    let limits: ProviderLimits
    let clock: @Sendable () -> Timestamp

    /// - Parameter clock: tells the time, in milliseconds since 1970.
    package init(
        environment: Environment,
        conformance: Conformance,
        tokens: ProviderTokens,
        tokenKeys: TokenKeys,
        accounts: any Accounts,
        delivery: Delivery,
        limits: ProviderLimits = ProviderLimits(),
        clock: @escaping @Sendable () -> Timestamp,
    ) {
        self.environment = environment
        rules = RequestRules(environment: environment, conformance: conformance, tokenKeys: tokenKeys)
        self.tokens = tokens
        self.accounts = accounts
        self.delivery = delivery
        self.limits = limits
        self.clock = clock
    }

    package var sessionConfiguration: HTTP2Configuration {
        var configuration = HTTP2Configuration()
        configuration.maxConcurrentStreams = limits.concurrentStreams
        configuration.announcedConcurrentStreams = limits.concurrentStreams
        return configuration
    }

    package func makeConnection(from peer: Never?, on channel: any Channel) -> any HTTP2Connection {
        ProviderConnection(gateway: self, eventLoop: channel.eventLoop)
    }
}

/// The named bounds of the provider API, each with the reason for its value.
package struct ProviderLimits: Sendable, Hashable {
    /// How many requests a connection may have open: what real connections announce (500, 1,000 or 1,500).
    package var concurrentStreams = 1000

    /// How long a request's headers, and then its body, may take: senders are machines on good lines, and an open
    /// request costs memory.
    package var requestTimeout = TimeAmount.seconds(10)

    /// How long a connection may be without a request: apps that send rarely are better off with a new connection.
    package var idleTimeout = TimeAmount.minutes(10)

    package init() {}
}

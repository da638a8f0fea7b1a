package import Delivery
package import HTTP2
package import Logging
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
    let log: LimitLog
    let clock: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - logger: told of limits that strike.
    ///   - clock: tells the time, in milliseconds since 1970.
    package init(
        environment: Environment,
        conformance: Conformance,
        tokens: ProviderTokens,
        tokenKeys: TokenKeys,
        accounts: any Accounts,
        delivery: Delivery,
        limits: ProviderLimits = ProviderLimits(),
        logger: Logger,
        clock: @escaping @Sendable () -> Timestamp,
    ) {
        self.environment = environment
        rules = RequestRules(environment: environment, conformance: conformance, tokenKeys: tokenKeys)
        self.tokens = tokens
        self.accounts = accounts
        self.delivery = delivery
        self.limits = limits
        log = LimitLog(logger)
        self.clock = clock
    }

    package var sessionConfiguration: HTTP2Configuration {
        var configuration = HTTP2Configuration()
        configuration.maxConcurrentStreams = limits.concurrentStreams
        // One until the first valid provider token (Guide, 2.3.3).
        configuration.announcedConcurrentStreams = 1
        // A client that still sends a body that is too long is to read why.
        configuration.resetsAfterEarlyAnswer = false
        return configuration
    }

    package func makeConnection(from peer: Never?, on channel: any Channel) -> any HTTP2Connection {
        ProviderConnection(gateway: self, channel: channel)
    }
}

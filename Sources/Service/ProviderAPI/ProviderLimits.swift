package import Connections
import Delivery
import HTTP2
package import NIOCore
package import Rates

/// The named limits of the provider API, each with the reason for its value.
package struct ProviderLimits: Sendable, Hashable {
    /// The limits of one address on all listeners of the provider API, the binary API and the feedback service together.
    package var perAddress = ConnectLimits(connects: Rate(burst: 400, perSecond: 200), open: 20_000)

    /// The largest number of open requests on a connection that has shown a valid provider token. Apple's servers
    /// announce 500, 1,000 or 1,500.
    package var concurrentStreams = 1000

    /// The largest number of open requests of all connections together that have not shown whom they belong to. A client that
    /// ignores the announced number can open ``concurrentStreams`` before it shows anything. Each counts by the memory that it
    /// takes, in KiB begun: ``requestBytes``, its headers and its body. So all of them take 64 MB at most. One about the management of
    /// channels counts as ``untrustedChannelWeight``. A further one is refused, and may be sent again.
    package var untrustedRequests = 65_536

    /// What an open request takes beside its headers and its body, in bytes. Measured with a release build, as what the process
    /// grew by: 64,000 requests with 161 bytes of headers took 0.6 KB each and count as 1 KiB, and those with 669 and 1,169 bytes
    /// took 1.3 and 2.0 KB and count as 2 KiB. A debug build takes twice as much.
    static let requestBytes = 512

    /// As how many requests one about the management of channels counts: its path is kept as it came, and all headers
    /// together have up to 8,000 bytes.
    package static let untrustedChannelWeight = 9

    /// What a connection may hold beside its open requests before it has shown whom it belongs to, in bytes: answers that it
    /// does not read, and frames of which a part is missing. It ends with more. A client may send ``concurrentStreams``
    /// requests before it knows that it should not, and their answers have up to 250 bytes each.
    static let strangerBytes = 262_144

    /// What of that counts as the connection's own, in bytes. The rest counts for ``untrustedRequests``, and may stay for
    /// ``requestTimeout``.
    static let uncountedBytes = 4_096

    /// How much is written at once to such a connection, in bytes: as much as NIOSSL has room for from the beginning.
    static let strangerWriteBytes = 8_192

    /// How often the provider token of a connection may change: once in twenty minutes (docs/current-apns.md). The
    /// Guide requires one token for all requests of an hour (2.3.3.1).
    package var tokenUpdates = Rate(burst: 1, perSecond: 1 / 1200)

    /// The rate of invalid provider tokens on a connection. Verifying a token costs much more than a request. If the
    /// rate is exceeded, the connection ends.
    package var failedTokens = Rate(burst: 100, perSecond: 100 / 60)

    /// The time that a request's headers may take to arrive, and then its body. Providers have fast connections, and
    /// an open request takes memory.
    package var requestTimeout = TimeAmount.seconds(10)

    /// How long a connection may be without a request or a PING. The Guide asks providers to leave connections open
    /// (2.3.3), and Apple to check an idle one with PING after an hour (docs/current-apns.md). The five minutes are for that
    /// PING to arrive, and for the report to see a client that sends none (``uncheckedSilence``).
    package var idleTimeout = TimeAmount.minutes(65)

    /// How long a connection may be idle before a client should check it with PING. The report uses it. Apple
    /// recommends an hour (docs/current-apns.md).
    package var uncheckedSilence = TimeAmount.hours(1)

    /// How often one address may send a request about handles and grants. Many phones share the address of a mobile
    /// network, and an app sends one at its launch.
    package var gatewayRequestsPerAddress = Rate(burst: 100, perSecond: 10)

    /// How often the client key of one grant may be used. Everybody can read this key in the app. The users of a large
    /// instance update their app on the same day.
    package var handlesPerGrant = Rate(burst: 1000, perSecond: 100)

    package init() {}

    package static let settings: [LimitSetting<ProviderLimits>] =
        ConnectLimits.settings("provider-connect", to: "the provider ports").map { $0.of(\.perAddress) } + [
            LimitSetting(
                .concurrentStreams, "open requests on one provider connection with a valid provider token", 1...100_000,
                \.concurrentStreams, .count),
            LimitSetting(
                .untrustedRequests, "open requests of one environment without a certificate or a valid provider token",
                16...10_000_000, \.untrustedRequests, .count),
            LimitSetting(
                .tokenUpdateRate, "provider token changes an hour on one connection", .rates, \.tokenUpdates.perSecond,
                .perHour),
            LimitSetting(
                "token-update-burst", "provider token changes at once on one connection", .bursts, \.tokenUpdates.burst,
                .count),
            LimitSetting(
                .failedTokenRate, "failed provider tokens a minute on one connection", .rates, \.failedTokens.perSecond,
                .perMinute),
            LimitSetting(
                "failed-token-burst", "failed provider tokens at once on one connection", .bursts, \.failedTokens.burst,
                .count),
            LimitSetting(
                .idleTimeout, "seconds that a provider's connection may be without a request or a PING", .seconds,
                \.idleTimeout, .seconds),
            LimitSetting(
                "unchecked-silence",
                "seconds that a client may leave a provider connection idle without a PING, for the report",
                0...1_000_000,
                \.uncheckedSilence, .seconds),
            LimitSetting(
                .gatewayAddressRate, "requests a second of one address about handles and grants", .rates,
                \.gatewayRequestsPerAddress.perSecond, .perSecond, forTests: 0),
            LimitSetting(
                "gateway-address-burst", "requests at once of one address about handles and grants", .bursts,
                \.gatewayRequestsPerAddress.burst, .count),
            LimitSetting(
                .gatewayGrantRate, "requests a second about handles with the client key of one grant", .rates,
                \.handlesPerGrant.perSecond, .perSecond),
            LimitSetting(
                "gateway-grant-burst", "requests at once about handles with the client key of one grant", .bursts,
                \.handlesPerGrant.burst, .count),
        ]
}

/// The limits of providers: the rate of connections, and the use of provider tokens.
extension Limit {
    /// The rate of ``ProviderLimits/perAddress``.
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

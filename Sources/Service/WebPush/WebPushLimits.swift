package import Connections
import HTTPAPI
import NIOCore
package import Rates

/// The named limits of Web Push, each with the reason for its value.
package struct WebPushLimits: Sendable, Hashable {
    /// How many verified tokens are remembered. Senders use a token for hours and for all endpoints, so these are as many
    /// senders. One takes some 300 bytes, so all take 3 MB.
    package static let rememberedTokens = 10_000

    /// How many of them may have come first with the same endpoint. Most endpoints have one sender, which changes its token
    /// every few hours.
    package static let rememberedTokensOfEndpoint = 4

    /// The limits of one address on the listener with TLS. Senders keep few connections, and one with HTTP/1.1 opens some for each
    /// core.
    package var perAddress = ConnectLimits(connects: Rate(burst: 400, perSecond: 100), open: 1000)

    /// The rate of messages to one endpoint. A queue has room for 100 messages, so a larger burst would drop some of them, which is
    /// what a test may want to see.
    package var messagesPerEndpoint = Rate(burst: 100, perSecond: 10)

    /// The rate of requests of one address. A large server sends to all its users from one address.
    package var requestsPerAddress = Rate(burst: 2000, perSecond: 500)

    /// The rate of requests of one address for endpoints that do not exist. A server whose subscribers have left sends to each of
    /// their endpoints once. Beyond this rate nothing is looked up for the address.
    package var guessesPerAddress = Rate(burst: 500, perSecond: 20)

    /// The rate of messages to one device token of a relay's URL, as to an endpoint.
    package var relayedPerToken = Rate(burst: 100, perSecond: 10)

    /// The rate of messages of one address to the relay's URL. Nobody has to authenticate there, and the publisher's key pays. A
    /// server with 100,000 active users of one app sends some 50 a second.
    package var relayedPerAddress = Rate(burst: 2000, perSecond: 200)

    /// The rate of all messages to an app's relay's URL: far below what an upstream takes, and what its other notifications need.
    package var relayedPerApp = Rate(burst: 10_000, perSecond: 2000)

    /// When to send again if the upstream has too much and does not say for how long, in seconds.
    static let retryAfterBusy = 60

    /// The longest `Retry-After` of an upstream that is passed on, in seconds. Senders that have to wait for longer drop messages.
    static let longestRetryAfter = 3600

    /// What a sender is told of an upstream's `Retry-After`, in seconds: 1 to ``longestRetryAfter``.
    static func passed(_ retryAfter: Int?) -> Int? { retryAfter.map { min(max(1, $0), longestRetryAfter) } }

    /// When to send again to an endpoint whose grant is suspended, in seconds. A person has suspended it, and lifts it.
    static let retryAfterSuspended = 3600

    /// How long a request may take to arrive, and how long a client may leave an answer unread. A message has 4 KB.
    static let requests = RequestLimits(request: .seconds(10), answer: .seconds(10))

    /// How long a new connection may take to send its first request, and how long it may be idle between two requests.
    /// Senders keep a connection for some seconds, and proxies for a minute.
    static let connections = ConnectionGuard.Times(
        first: .seconds(10), idle: .minutes(2), ending: .seconds(10), idleEnding: .seconds(1))

    /// How much longer a connection over HTTP/2 may be idle, so that a client that behaves well reads GOAWAY before the end.
    static let idleMargin = TimeAmount.seconds(1)

    /// How many bytes of a request's body may come over HTTP/2 before they are read: four messages. A client that has shown no
    /// credential may open 100 requests.
    static let windowBytes = 16_384

    /// How long a browser may remember that any page may send, in seconds: the longest that browsers allow.
    static let preflightSeconds = 86_400

    package init() {}

    package static let settings: [LimitSetting<WebPushLimits>] =
        ConnectLimits.settings("web-push-connect", to: "Web Push").map { $0.of(\.perAddress) } + [
            LimitSetting(
                .webPushEndpointRate, "messages a second to one endpoint of Web Push", .rates,
                \.messagesPerEndpoint.perSecond, .perSecond),
            LimitSetting(
                "web-push-endpoint-burst", "messages at once to one endpoint of Web Push", .bursts,
                \.messagesPerEndpoint.burst, .count, forTests: 1000),
            LimitSetting(
                .webPushAddressRate, "requests a second of one address to Web Push", .rates,
                \.requestsPerAddress.perSecond, .perSecond, forTests: 0),
            LimitSetting(
                "web-push-address-burst", "requests at once of one address to Web Push", .bursts,
                \.requestsPerAddress.burst, .count),
            LimitSetting(
                .webPushGuessRate, "requests a second of one address for endpoints of Web Push that do not exist",
                .rates,
                \.guessesPerAddress.perSecond, .perSecond, forTests: 0),
            LimitSetting(
                "web-push-guess-burst", "requests at once of one address for endpoints of Web Push that do not exist",
                .bursts, \.guessesPerAddress.burst, .count),
            LimitSetting(
                .webPushRelayTokenRate, "messages a second to one device token at a relay's URL", .rates,
                \.relayedPerToken.perSecond, .perSecond),
            LimitSetting(
                "web-push-relay-token-burst", "messages at once to one device token at a relay's URL", .bursts,
                \.relayedPerToken.burst, .count),
            LimitSetting(
                .webPushRelayAddressRate, "messages a second of one address to a relay's URL", .rates,
                \.relayedPerAddress.perSecond, .perSecond, forTests: 0),
            LimitSetting(
                "web-push-relay-address-burst", "messages at once of one address to a relay's URL", .bursts,
                \.relayedPerAddress.burst, .count),
            LimitSetting(
                .webPushRelayAppRate, "messages a second to an app's relay's URL", .rates, \.relayedPerApp.perSecond,
                .perSecond),
            LimitSetting(
                "web-push-relay-app-burst", "messages at once to an app's relay's URL", .bursts, \.relayedPerApp.burst,
                .count),
        ]
}

/// The limits of Web Push.
extension Limit {
    /// The rate of ``WebPushLimits/perAddress``.
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

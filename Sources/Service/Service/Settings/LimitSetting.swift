import BinaryAPI
import Connections
import Courier
import Delivery
import DeliveryLogFiles
import HTTP2
import NIOCore
import ProviderAPI
import Rates
import WebPush

/// One row of the table of limits: `limit.<name>` in the settings file, `CARILLON_LIMIT_<NAME>` in the environment.
/// docs/settings.md shows the same table.
package struct LimitSetting: Sendable {
    package let name: String
    /// The meaning of the limit, and its unit.
    package let meaning: String
    package let range: ClosedRange<Double>
    let set: @Sendable (inout Settings, Double) -> Void

    private init(
        _ name: String,
        _ meaning: String,
        _ range: ClosedRange<Double>,
        _ set: @escaping @Sendable (inout Settings, Double) -> Void,
    ) {
        self.name = name
        self.meaning = meaning
        self.range = range
        self.set = set
    }

    /// The number in the form that people write.
    func shown(_ number: Double) -> String {
        number == number.rounded() ? "\(Int(number))" : "\(number)"  // fits: a number that a range contains
    }

    private static let rates = 0.0...1_000_000
    private static let bursts = 1.0...10_000_000
    private static let seconds = 1.0...1_000_000

    /// The name of the environment variable that sets the limit.
    package var variable: String { "CARILLON_LIMIT_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined() }

    // fits below: $1: it is in its row's range, and the ranges end at ten million
    /// All limits. Setting a rate to 0 switches its limit off.
    package static let all: [LimitSetting] = [
        LimitSetting("token-rate", "requests a second to one device token", rates) {
            $0.delivery.requestsPerDeviceToken.perSecond = $1
        },
        LimitSetting("token-burst", "requests at once to one device token", bursts) {
            $0.delivery.requestsPerDeviceToken.burst = Int($1)
        },
        LimitSetting("token-update-rate", "provider token changes an hour on one connection", rates) {
            $0.provider.tokenUpdates.perSecond = $1 / 3600
        },
        LimitSetting("token-update-burst", "provider token changes at once on one connection", bursts) {
            $0.provider.tokenUpdates.burst = Int($1)
        },
        LimitSetting("failed-token-rate", "failed provider tokens a minute on one connection", rates) {
            $0.provider.failedTokens.perSecond = $1 / 60
        },
        LimitSetting("failed-token-burst", "failed provider tokens at once on one connection", bursts) {
            $0.provider.failedTokens.burst = Int($1)
        },
        LimitSetting("gateway-address-rate", "requests a second of one address about handles and grants", rates) {
            $0.provider.gatewayRequestsPerAddress.perSecond = $1
        },
        LimitSetting("gateway-address-burst", "requests at once of one address about handles and grants", bursts) {
            $0.provider.gatewayRequestsPerAddress.burst = Int($1)
        },
        LimitSetting("gateway-grant-rate", "requests a second with the client key of one grant", rates) {
            $0.provider.handlesPerGrant.perSecond = $1
        },
        LimitSetting("gateway-grant-burst", "requests at once with the client key of one grant", bursts) {
            $0.provider.handlesPerGrant.burst = Int($1)
        },
        LimitSetting("grants", "grants that are not revoked", 1...1_000_000) {
            $0.grants.grants = Int($1)
        },
        LimitSetting("handle-age", "days after which a handle ends that was not registered again", 1...3650) {
            $0.grants.handleAge = .seconds(Int($1) * 24 * 60 * 60)
        },
        LimitSetting("provider-connect-rate", "connects a second of one address to the provider ports", rates) {
            $0.providerConnects.connects.perSecond = $1
        },
        LimitSetting("provider-connect-burst", "connects at once of one address to the provider ports", bursts) {
            $0.providerConnects.connects.burst = Int($1)
        },
        LimitSetting("courier-connect-rate", "connects a second of one address to the couriers", rates) {
            $0.courierConnects.connects.perSecond = $1
        },
        LimitSetting("courier-connect-burst", "connects at once of one address to the couriers", bursts) {
            $0.courierConnects.connects.burst = Int($1)
        },
        LimitSetting("management-connect-rate", "connects a second of one address to the management API", rates) {
            $0.managementConnects.connects.perSecond = $1
        },
        LimitSetting("management-connect-burst", "connects at once of one address to the management API", bursts) {
            $0.managementConnects.connects.burst = Int($1)
        },
        LimitSetting("web-push-connect-rate", "connects a second of one address to Web Push", rates) {
            $0.webPushConnects.connects.perSecond = $1
        },
        LimitSetting("web-push-connect-burst", "connects at once of one address to Web Push", bursts) {
            $0.webPushConnects.connects.burst = Int($1)
        },
        LimitSetting("web-push-endpoint-rate", "messages of Web Push a second to one endpoint", rates) {
            $0.webPush.limits.messagesPerEndpoint.perSecond = $1
        },
        LimitSetting("web-push-endpoint-burst", "messages of Web Push at once to one endpoint", bursts) {
            $0.webPush.limits.messagesPerEndpoint.burst = Int($1)
        },
        LimitSetting("web-push-address-rate", "requests of Web Push a second of one address", rates) {
            $0.webPush.limits.requestsPerAddress.perSecond = $1
        },
        LimitSetting("web-push-address-burst", "requests of Web Push at once of one address", bursts) {
            $0.webPush.limits.requestsPerAddress.burst = Int($1)
        },
        LimitSetting(
            "web-push-guess-rate", "requests a second of one address for endpoints that do not exist", rates
        ) {
            $0.webPush.limits.guessesPerAddress.perSecond = $1
        },
        LimitSetting(
            "web-push-guess-burst", "requests at once of one address for endpoints that do not exist", bursts
        ) {
            $0.webPush.limits.guessesPerAddress.burst = Int($1)
        },
        LimitSetting("web-push-relay-token-rate", "messages a second to one device token of a relay's URL", rates) {
            $0.webPush.limits.relayedPerToken.perSecond = $1
        },
        LimitSetting("web-push-relay-token-burst", "messages at once to one device token of a relay's URL", bursts) {
            $0.webPush.limits.relayedPerToken.burst = Int($1)
        },
        LimitSetting("web-push-relay-address-rate", "messages a second of one address to a relay's URL", rates) {
            $0.webPush.limits.relayedPerAddress.perSecond = $1
        },
        LimitSetting("web-push-relay-address-burst", "messages at once of one address to a relay's URL", bursts) {
            $0.webPush.limits.relayedPerAddress.burst = Int($1)
        },
        LimitSetting("web-push-relay-app-rate", "messages a second to one app's relay's URL", rates) {
            $0.webPush.limits.relayedPerApp.perSecond = $1
        },
        LimitSetting("web-push-relay-app-burst", "messages at once to one app's relay's URL", bursts) {
            $0.webPush.limits.relayedPerApp.burst = Int($1)
        },
        LimitSetting("management-connections", "open connections to the management API", 16...100_000) {
            $0.managementConnections = Int($1)
        },
        LimitSetting("management-streams", "open streams and waits of the management API", 1...100_000) {
            $0.managementStreams = Int($1)
        },
        LimitSetting("rehearsals", "active rehearsals", 1...100_000) {
            $0.activeRehearsals = Int($1)
        },
        LimitSetting("open-connections", "open connections of one address to each kind of port", rates) {
            $0.providerConnects.open = Int($1)
            $0.courierConnects.open = Int($1)
        },
        LimitSetting(
            "untrusted-connections", "open connections of one listener without a certificate or provider token",
            16...1_000_000
        ) {
            $0.listener.untrustedConnections = Int($1)
        },
        LimitSetting(
            "untrusted-requests", "open requests of one environment without a certificate or provider token",
            16...10_000_000
        ) {
            $0.provider.untrustedRequests = Int($1)
        },
        LimitSetting("concurrent-streams", "open requests on one provider connection", 1...100_000) {
            $0.provider.concurrentStreams = Int($1)
        },
        LimitSetting("binary-unanswered", "unanswered notifications of one binary connection", 1...100_000) {
            $0.binary.maximumUnanswered = Int($1)
        },
        LimitSetting("binary-packet-timeout", "seconds for one notification of the binary API", seconds) {
            $0.binary.packetTimeout = .seconds(Int64($1))
        },
        LimitSetting("binary-idle-timeout", "seconds that a binary connection may be without a notification", seconds) {
            $0.binary.idleTimeout = .seconds(Int64($1))
        },
        LimitSetting("binary-linger-timeout", "seconds that a client has to close a connection that was ended", seconds)
        {
            $0.binary.lingerTimeout = .seconds(Int64($1))
        },
        LimitSetting("feedback-timeout", "seconds that a client has to take a page of its feedback list", seconds) {
            $0.binary.feedbackTimeout = .seconds(Int64($1))
        },
        LimitSetting(
            "unacknowledged", "unacknowledged notifications to one connected device",
            1...Double(DeliveryLimits.mostUnacknowledged)
        ) {
            $0.delivery.unacknowledgedPerDevice = Int($1)
        },
        LimitSetting("deferred", "notifications that wait for a connected device whose power is low", 0...100_000) {
            $0.delivery.deferredPerDevice = Int($1)
        },
        LimitSetting("acknowledgement-grace", "milliseconds before a notification is stored as well", 1...10_000) {
            $0.delivery.acknowledgementGrace = .milliseconds(Int($1))
        },
        LimitSetting("pending-stores", "notifications that may wait for the disk", 16...10_000_000) {
            $0.delivery.pendingStoresPerShard = max(1, Int($1) / DeliveryLimits.shards)
        },
        LimitSetting("retention", "days that a notification is kept for a device that is offline", 1...3650) {
            $0.delivery.retention = .seconds(Int($1) * 24 * 60 * 60)
        },
        LimitSetting("burst-interval", "seconds between bursts of notifications of priority 5", 1...86_400) {
            $0.delivery.burstInterval = .milliseconds(Int($1 * 1000))
        },
        LimitSetting("silent-rate", "silent notifications an hour for one app on one device", rates) {
            $0.delivery.silentsPerApp.perSecond = $1 / 3600
        },
        LimitSetting("silent-burst", "silent notifications at once for one app on one device", bursts) {
            $0.delivery.silentsPerApp.burst = Int($1)
        },
        LimitSetting("channels", "broadcast channels of one app in one environment; 0 for none at all", 0...1_000_000) {
            $0.channels.channelsPerApp = Int($1)
        },
        LimitSetting("subscriptions", "channels that one app on one device is subscribed to", 1...100_000) {
            $0.channels.subscriptionsPerApp = Int($1)
        },
        LimitSetting("broadcast-rate", "broadcasts a second to one channel", rates) {
            $0.channels.broadcastsPerChannel.perSecond = $1
        },
        LimitSetting("broadcast-burst", "broadcasts at once to one channel", bursts) {
            $0.channels.broadcastsPerChannel.burst = Int($1)
        },
        LimitSetting("broadcast-retention", "hours that a channel keeps its newest broadcast", 1...720) {
            $0.channels.retention = .seconds(Int($1 * 3600))
        },
        LimitSetting("node-broadcasts", "broadcasts of other nodes that wait for a node's devices", 16...100_000) {
            $0.channels.waitingFromNodes = Int($1)
        },
        LimitSetting(
            "unacknowledged-broadcasts", "unacknowledged broadcasts to one connected device",
            1...Double(ChannelLimits.mostUnacknowledged)
        ) {
            $0.channels.unacknowledgedPerDevice = Int($1)
        },
        LimitSetting("log-size", "MiB that the delivery log takes on the disk", 1...10_000_000) {
            $0.deliveryLog.totalBytes = Int($1) << 20
        },
        LimitSetting("log-retention", "days that events are kept in the delivery log", 1...3650) {
            $0.deliveryLog.retention = .seconds(Int($1) * 24 * 60 * 60)
        },
        LimitSetting("log-queue", "events that may wait to be written to the delivery log", 16...100_000) {
            $0.deliveryLog.pendingEvents = Int($1)
        },
        LimitSetting("handshake-timeout", "seconds for the TLS handshake, and for the HTTP/2 preface", seconds) {
            $0.listener.handshakeTimeout = .seconds(Int64($1))
        },
        LimitSetting("request-timeout", "seconds for a request", seconds) {
            $0.provider.requestTimeout = .seconds(Int64($1))
            $0.courier.requestTimeout = .seconds(Int64($1))
        },
        LimitSetting("idle-timeout", "seconds that a provider's connection may be without a request or a PING", seconds)
        {
            $0.provider.idleTimeout = .seconds(Int64($1))
        },
        LimitSetting("device-idle-timeout", "seconds that a device's connection may be without a request", seconds) {
            $0.courier.idleTimeout = .seconds(Int64($1))
        },
        LimitSetting(
            "unchecked-silence", "seconds that a client may leave a connection idle without a PING, for the report",
            0...1_000_000
        ) {
            $0.provider.uncheckedSilence = .milliseconds(Int64($1 * 1000))
        },
        LimitSetting("keep-alive", "seconds of silence before a device gets an empty line", seconds) {
            $0.courier.keepAlive = .seconds(Int64($1))
        },
        LimitSetting("shutdown-timeout", "seconds that a clean shutdown waits for what is open", 0...3600) {
            $0.shutdownTimeout = .seconds(Int64($1))
        },
    ]
}

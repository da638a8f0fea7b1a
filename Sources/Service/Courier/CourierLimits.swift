package import Connections
package import NIOCore
package import Rates

/// The named limits of the device protocol, each with the reason for its value.
package struct CourierLimits: Sendable, Hashable {
    /// The limits of one address on all couriers' listeners together. They are high, because many devices behind one address may
    /// connect at the same moment.
    package var perAddress = ConnectLimits(connects: Rate(burst: 20_000, perSecond: 2000), open: 20_000)

    /// The largest number of open requests of a device: its notifications, and a registration for each of many apps.
    package var concurrentStreams = 100

    /// The largest request body, in bytes. It is twice the size of a thousand acknowledgements.
    package var bodyBytes = 65_536

    /// The time for a request's headers, and then for its body.
    package var requestTimeout = TimeAmount.seconds(10)

    /// The silence after which an empty line is sent on a stream of notifications. Many routers forget
    /// a silent connection after five minutes.
    package var keepAlive = TimeAmount.minutes(4)

    /// The time that a device has at a shutdown to answer PING, and to end its request for acknowledgements. It is more than
    /// a round trip through any network, and much less than the shutdown may take.
    package var shutdownAnswer = TimeAmount.seconds(2)

    /// The time that a connection may have no open request. A device either listens or has finished.
    package var idleTimeout = TimeAmount.minutes(10)

    /// The time for which a Live Activity's device token is valid: a Live Activity is active for at most eight hours,
    /// and stays on show for at most four more (docs/channels.md).
    package var activityTokenLife = Duration.seconds(12 * 60 * 60)

    package init() {}

    package static let settings: [LimitSetting<CourierLimits>] =
        ConnectLimits.settings("courier-connect", to: "the couriers").map { $0.of(\.perAddress) } + [
            LimitSetting(
                "device-idle-timeout", "seconds that a device's connection may be without a request", .seconds,
                \.idleTimeout, .seconds),
            LimitSetting(
                "keep-alive", "seconds of silence on a device's stream before an empty line is sent", .seconds,
                \.keepAlive, .seconds),
        ]
}

extension Limit {
    /// The rate of ``CourierLimits/perAddress``.
    package static let courierConnectRate = Limit("courier-connect-rate")

    package static let ofCourier: [Limit] = [.courierConnectRate]
}

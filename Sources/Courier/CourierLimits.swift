package import NIOCore

/// The named bounds of the device protocol, each with the reason for its value.
package struct CourierLimits: Sendable, Hashable {
    /// How many requests a device may have open: its notifications, and a registration for each of many apps.
    package var concurrentStreams = 100

    /// In bytes: acknowledgements of a thousand notifications fit twice.
    package var bodyBytes = 65_536

    /// How long a request's headers, and then its body, may take.
    package var requestTimeout = TimeAmount.seconds(10)

    /// How long a stream of notifications may be silent before an empty line is sent: routers forget a silent
    /// connection after about five minutes.
    package var keepAlive = TimeAmount.minutes(4)

    /// How long a connection may be without any open request: a device listens, or has done what it came for.
    package var idleTimeout = TimeAmount.minutes(10)

    package init() {}
}

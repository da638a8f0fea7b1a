package import NIOCore
package import Rates

/// The limits of a listener, each with the reason for its value.
package struct ListenerLimits: Sendable, Hashable {
    /// The time for the TLS handshake, and then for the HTTP/2 preface. A peer that sends nothing, or something else,
    /// cannot hold a connection for longer.
    package var handshakeTimeout = TimeAmount.seconds(10)

    /// The number of connections that may wait to be accepted. It is large enough for a fleet that returns at once.
    package var backlog: Int32 = 4096

    /// The largest number of open connections of one listener whose clients have not authenticated, with a certificate
    /// or a provider token. Each may hold up to 0.6 MB of sent bytes that its client does not read, so this is 1.2 GB.
    package var untrustedConnections = 2000

    /// The time after which a new connection may replace one of them: enough for a handshake on a fully loaded machine.
    package var untrustedGrace = TimeAmount.seconds(2)

    package init() {}

    package static let settings: [LimitSetting<ListenerLimits>] = [
        LimitSetting(
            .handshakeTimeout, "seconds for the TLS handshake and the HTTP/2 preface together", 1...1_000_000,
            \.handshakeTimeout, .seconds),
        LimitSetting(
            .untrustedConnections, "open connections of one listener without a certificate or a valid provider token",
            16...1_000_000, \.untrustedConnections, .count),
    ]
}

extension Limit {
    /// ``ConnectLimits/open``.
    package static let openConnections = Limit("open-connections")
    /// ``ConnectionBudget``: the system grants the process no more files.
    package static let openFiles = Limit("open-files")
    /// ``ListenerLimits/handshakeTimeout``.
    package static let handshakeTimeout = Limit("handshake-timeout")
    /// ``ListenerLimits/untrustedConnections``.
    package static let untrustedConnections = Limit("untrusted-connections")

    package static let ofConnections: [Limit] = [
        .openConnections, .openFiles, .handshakeTimeout, .untrustedConnections,
    ]
}

extension LimitUnit<TimeAmount> {
    /// Whole milliseconds of seconds.
    package static var seconds: Self {
        // fits: a number of a setting's range, and these end at a hundred million
        Self(value: { .milliseconds(Int64($0 * 1000)) }, number: { Double($0.nanoseconds) / 1_000_000_000 })
    }
}

package import NIOCore

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
}

package import NIOCore

/// The named bounds of a listener, each with the reason for its value.
package struct ListenerLimits: Sendable, Hashable {
    /// How long the TLS handshake, and then the HTTP/2 preface, may take. A peer that says nothing, or something else,
    /// holds a connection no longer than this.
    package var handshakeTimeout = TimeAmount.seconds(10)

    /// How many connections may wait to be accepted: a fleet that comes back all at once is not to be turned away.
    package var backlog: Int32 = 4096

    /// How many connections of one listener may be open whose clients have not shown who they are, with a certificate or a
    /// provider token. Each may hold up to 0.6 MB of what its client sent and does not take, so this is 1.2 GB.
    package var untrustedConnections = 2000

    /// How long each of them has before it may be ended in favour of a new one: a handshake on a machine under full load.
    package var untrustedGrace = TimeAmount.seconds(2)

    package init() {}
}

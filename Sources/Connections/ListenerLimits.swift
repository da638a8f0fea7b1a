package import NIOCore

/// The named bounds of a listener, each with the reason for its value.
package struct ListenerLimits: Sendable, Hashable {
    /// How long the TLS handshake, and then the HTTP/2 preface, may take. A peer that says nothing, or something else,
    /// holds a connection no longer than this.
    package var handshakeTimeout = TimeAmount.seconds(10)

    /// How many connections may wait to be accepted: a fleet that comes back all at once is not to be turned away.
    package var backlog: Int32 = 4096

    package init() {}
}

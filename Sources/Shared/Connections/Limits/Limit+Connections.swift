package import Rates

/// The limits of a listener's connections.
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

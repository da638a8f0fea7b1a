import NIOCore

extension String {
    /// Whether it is an IP address and not a name. TLS does not accept an address as a server name (RFC 6066, 3).
    package var isIPAddress: Bool {
        // A text that cannot be read as an address is a name.
        (try? SocketAddress(ipAddress: self, port: 0)) != nil
    }
}

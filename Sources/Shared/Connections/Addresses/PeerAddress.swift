package import NIOCore

/// The key by which connections are counted: an IPv4 address, or the 64-bit network of an IPv6 address, because one
/// party usually has a whole network (RFC 6177).
package struct PeerAddress: Hashable, Sendable {
    private let network: UInt64
    private let isIPv6: Bool

    /// - Returns: Nil if it is not a network address. A Unix socket needs no limit.
    package init?(_ address: SocketAddress?) {
        guard let bytes = address?.addressBytes else { return nil }
        isIPv6 = bytes.count == 16
        network = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
}

extension SocketAddress {
    /// The address in the form of the log, without port. A mapped IPv4 address (RFC 4291, 2.5.5.2) is written as IPv4.
    /// Nil if it is not a network address.
    package var host: String? {
        guard let text = ipAddress?.lowercased() else { return nil }
        let mapped = "::ffff:"
        return text.hasPrefix(mapped) && text.contains(".") ? String(text.dropFirst(mapped.count)) : text
    }

    /// The address in the form that people and commands write; nil if it is not a network address.
    package var hostAndPort: String? {
        guard let host = ipAddress, let port else { return nil }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

package import NIOCore

/// The key by which connections are counted: an IPv4 address, or the 64-bit network of an IPv6 address, because one
/// party usually has a whole network (RFC 6177).
struct PeerAddress: Hashable, Sendable {
    private let network: UInt64
    private let isIPv6: Bool

    /// The offset of the address in `sockaddr_in` and `sockaddr_in6`.
    private static let offsetIPv4 = 4
    private static let offsetIPv6 = 8

    /// - Returns: Nil if it is not a network address. A Unix socket needs no limit.
    init?(_ address: SocketAddress?) {
        guard let address, case .v4 = address else {
            guard let address, case .v6 = address else { return nil }
            let (high, low) = address.withSockAddr { pointer, size in
                let bytes = UnsafeRawBufferPointer(start: pointer, count: size)
                return (
                    UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: Self.offsetIPv6, as: UInt64.self)),
                    UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: Self.offsetIPv6 + 8, as: UInt64.self))
                )
            }
            // An IPv4 address mapped to IPv6 (RFC 4291, 2.5.5.2).
            let isMapped = high == 0 && low >> 32 == 0xffff
            (network, isIPv6) = (isMapped ? low & 0xffff_ffff : high, !isMapped)
            return
        }
        network = address.withSockAddr { pointer, size in
            let bytes = UnsafeRawBufferPointer(start: pointer, count: size)
            return UInt64(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: Self.offsetIPv4, as: UInt32.self)))
        }
        isIPv6 = false
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

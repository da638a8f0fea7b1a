package import NIOCore

/// Whom connections are counted by: an IPv4 address, or the 64-bit network of an IPv6 address, which one party
/// usually has whole (RFC 6177).
struct PeerAddress: Hashable, Sendable {
    private let network: UInt64
    private let isIPv6: Bool

    /// Where the address stands in `sockaddr_in` and `sockaddr_in6`.
    private static let offsetIPv4 = 4
    private static let offsetIPv6 = 8

    /// - Returns: nil for what is no network address, as a Unix socket, which needs no limit.
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
            // An IPv4 address in an IPv6 socket's clothes (RFC 4291, 2.5.5.2).
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
    /// The address alone, in the one form that the log has: an IPv4 address in an IPv6 socket's clothes (RFC 4291, 2.5.5.2)
    /// without them. Nil for what is no network address.
    package var host: String? {
        guard let text = ipAddress?.lowercased() else { return nil }
        let mapped = "::ffff:"
        return text.hasPrefix(mapped) && text.contains(".") ? String(text.dropFirst(mapped.count)) : text
    }

    /// As people and commands write it; nil for what is no network address.
    package var hostAndPort: String? {
        guard let host = ipAddress, let port else { return nil }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

import NIOCore

extension SocketAddress {
    /// The 4 or 16 bytes of the address. A mapped IPv4 address (RFC 4291, 2.5.5.2) has 4. Nil for a Unix socket.
    var addressBytes: [UInt8]? {
        // The offset and the length of the address in `sockaddr_in` and `sockaddr_in6`.
        let place: Range<Int>
        switch self {
        case .unixDomainSocket: return nil
        case .v4: place = 4..<8
        case .v6: place = 8..<24
        }
        let bytes = withSockAddr { pointer, size in Array(UnsafeRawBufferPointer(start: pointer, count: size)) }
        guard bytes.count >= place.upperBound else { return nil }
        let address = Array(bytes[place])
        let isMapped =
            address.count == 16 && address.prefix(10).allSatisfy { $0 == 0 } && address[10...11] == [0xff, 0xff]
        return isMapped ? Array(address.suffix(4)) : address
    }
}

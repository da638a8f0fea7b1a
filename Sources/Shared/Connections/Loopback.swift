package import NIOCore

extension SocketAddress {
    /// Whether the address reaches this machine only: 127.0.0.0/8, also mapped to IPv6 (RFC 4291, 2.5.5.2), `::1`, or a
    /// Unix socket.
    package var isLoopback: Bool {
        guard let bytes = addressBytes else { return true }
        return bytes.count == 4 ? bytes[0] == 127 : bytes == [UInt8](repeating: 0, count: 15) + [1]
    }
}

extension String {
    /// Whether this host, of a URL or to listen on, reaches this machine only. It is `localhost` or an address. Any
    /// other name may lead anywhere, also one that begins with `127.`. An IPv6 address may have brackets.
    package var isLoopbackHost: Bool {
        if lowercased() == "localhost" { return true }
        let isBracketed = hasPrefix("[") && hasSuffix("]")
        // A text that cannot be read as an address is a name. C, which reads it, would stop at a zero byte.
        guard !utf8.contains(0),
            let address = try? SocketAddress(ipAddress: isBracketed ? String(dropFirst().dropLast()) : self, port: 0)
        else { return false }
        if isBracketed, case .v4 = address { return false }
        return address.isLoopback
    }
}
